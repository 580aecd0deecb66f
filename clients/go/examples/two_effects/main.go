// Two questions to the outside, one after the other: what is the price, and is there enough?
package main

import playhead "playhead.dev/go"

type event struct {
	SKU    string `json:"sku"`
	Amount int64  `json:"amount"`
}

type output struct {
	At    float64 `json:"at"`
	Price int64   `json:"price"`
	Stock int64   `json:"stock"`
	OK    bool    `json:"ok"`
}

func twoEffects(ctx *playhead.Context, e event) (*output, error) {
	at, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	price, err := playhead.Respond(ctx, "quote", func() (int64, error) { return 990, nil }, playhead.Args(e.SKU))
	if err != nil {
		return nil, err
	}
	stock, err := playhead.Respond(ctx, "stock", func() (int64, error) { return 7, nil }, playhead.Args(e.SKU))
	if err != nil {
		return nil, err
	}
	return &output{at, price, stock, stock >= e.Amount}, nil
}

func main() {
	playhead.Serve(playhead.Functions{"handler": playhead.Func(twoEffects)})
}
