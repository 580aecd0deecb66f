// The event is an integer, and the output is the integer plus one, exactly, however large it is.
package main

import (
	"math/big"

	playhead "playhead.dev/go"
)

func plusOne(_ *playhead.Context, event *big.Int) (*big.Int, error) {
	return event.Add(event, big.NewInt(1)), nil
}

func main() {
	playhead.Serve(playhead.Functions{"handler": playhead.Func(plusOne)})
}
