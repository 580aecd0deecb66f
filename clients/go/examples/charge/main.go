// A small governed handler: a time, a draw and one answer from outside, each read through the context.
package main

import playhead "playhead.dev/go"

type event struct {
	Amount int64 `json:"amount"`
}

type output struct {
	ReceivedAt float64 `json:"receivedAt"`
	Sampled    bool    `json:"sampled"`
	Approved   bool    `json:"approved"`
	Balance    int64   `json:"balance"`
}

func charge(ctx *playhead.Context, e event) (*output, error) {
	at, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	draw, err := ctx.Random()
	if err != nil {
		return nil, err
	}
	balance, err := playhead.Respond(ctx, "account.balance", func() (int64, error) { return 1000 - e.Amount, nil })
	if err != nil {
		return nil, err
	}
	return &output{ReceivedAt: at, Sampled: draw < 0.2, Approved: balance >= 0, Balance: balance}, nil
}

func main() {
	playhead.Serve(playhead.Functions{"handler": playhead.Func(charge)})
}
