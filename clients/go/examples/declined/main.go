// An error that is the same in every language.
package main

import playhead "playhead.dev/go"

func declined(*playhead.Context, any) (any, error) {
	return nil, &playhead.HandlerError{Type: "Declined", Message: "no funds"}
}

func main() {
	playhead.Serve(playhead.Functions{"handler": playhead.Func(declined)})
}
