// The conformance program of the Go client: the functions of protocol/conformance.md, and nothing else.
//
//	playhead conformance --command build/conformance
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"syscall"
	"time"

	playhead "playhead.dev/go"
)

type context = *playhead.Context

type charging struct {
	Amount int64 `json:"amount"`
}

type charged struct {
	ReceivedAt float64 `json:"receivedAt"`
	Sampled    bool    `json:"sampled"`
	Approved   bool    `json:"approved"`
	Balance    int64   `json:"balance"`
}

type item struct {
	SKU string `json:"sku"`
}

type price struct {
	Price int64 `json:"price"`
}

func plusOne(_ context, event json.Number) (any, error) {
	if whole, ok := new(big.Int).SetString(event.String(), 10); ok {
		return whole.Add(whole, big.NewInt(1)), nil
	}
	value, err := strconv.ParseFloat(event.String(), 64)
	return value + 1, err
}

func clocks(ctx context, _ any) (any, error) {
	at, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	since, err := ctx.Monotonic()
	return []float64{at, since}, err
}

func seqAndNow(ctx context, _ any) (any, error) {
	at, err := ctx.Now()
	return map[string]any{"seq": ctx.Seq(), "at": at}, err
}

func draws(ctx context, _ any) (any, error) {
	first, err := ctx.Random()
	if err != nil {
		return nil, err
	}
	die, err := ctx.RandInt(1, 6)
	if err != nil {
		return nil, err
	}
	octets, err := ctx.RandBytes(5)
	if err != nil {
		return nil, err
	}
	positions, err := ctx.SamplePositions(10, 3)
	if err != nil {
		return nil, err
	}
	last, err := ctx.Random()
	return []any{first, die, hex.EncodeToString(octets), positions, last}, err
}

func drawTwo(ctx context, _ any) (any, error) {
	die, err := ctx.RandInt(1, 6)
	if err != nil {
		return nil, err
	}
	draw, err := ctx.Random()
	return []any{die, draw}, err
}

func charge(ctx context, event charging) (charged, error) {
	at, err := ctx.Now()
	if err != nil {
		return charged{}, err
	}
	draw, err := ctx.Random()
	if err != nil {
		return charged{}, err
	}
	balance, err := playhead.Respond(ctx, "account.balance", func() (int64, error) { return 1000 - event.Amount, nil })
	return charged{at, draw < 0.2, balance >= 0, balance}, err
}

func made() (any, error) { return price{990}, nil }

func fails() (any, error) {
	return nil, &playhead.HandlerError{Type: "TimeoutError", Message: "no quote"}
}

func hour() (any, error) {
	time.Sleep(time.Hour)
	return nil, nil
}

func quote(ctx context, event item) (any, error) {
	return playhead.Respond(ctx, "quote", made, playhead.Args(event.SKU))
}

func quoteInEUR(ctx context, event item) (any, error) {
	currency := map[string]any{"currency": "EUR"}
	return playhead.Respond(ctx, "quote", made, playhead.Args(event.SKU), playhead.Kwargs(currency))
}

func quoteFailing(ctx context, event item) (any, error) {
	return playhead.Respond(ctx, "quote", fails, playhead.Args(event.SKU))
}

func quoteOrNull(ctx context, event item) (any, error) {
	quoted, err := quoteFailing(ctx, event)
	if err != nil && playhead.TypeOf(err) != "TimeoutError" {
		return nil, err
	}
	return map[string]any{"price": quoted}, nil
}

func slow(ctx context, _ any) (any, error) { return playhead.Respond(ctx, "slow", hour) }

func declined(context, any) (any, error) {
	return nil, &playhead.HandlerError{Type: "Declined", Message: "no funds"}
}

func testify(ctx context, event charging) (bool, error) {
	span := ctx.Span("charge", event)
	if err := ctx.Observe("queue.depth", 17); err != nil {
		return false, err
	}
	if err := ctx.Note("retry", map[string]int{"attempt": 2}); err != nil {
		return false, err
	}
	return true, span.End("approved")
}

func escaped(ctx context, _ any) (bool, error) {
	return true, ctx.Escaped("socket.connect", "handler.py:12")
}

func caught(ctx context, _ any) (any, error) {
	at, err := ctx.Now()
	_, _ = ctx.Now()
	_, _ = ctx.Random()
	return map[string]float64{"at": at}, err
}

func prints(ctx context, _ any) (float64, error) {
	fmt.Println("one")
	at, err := ctx.Now()
	fmt.Print(`{"jsonrpc":"2.0","method":"two"}`)
	_, _ = syscall.Write(1, []byte("three\n"))
	return at, err
}

func reads(context, any) (string, error) {
	text, err := io.ReadAll(os.Stdin)
	return string(text), err
}

func order(ctx context, event item) (any, error) {
	at, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	draw, err := ctx.Random()
	if err != nil {
		return nil, err
	}
	quoted, err := playhead.Respond(ctx, "quote", func() (price, error) { return price{990}, nil }, playhead.Args(event.SKU))
	return []any{at, draw, quoted.Price}, err
}

func readings(ctx context, _ any) (any, error) {
	first, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	second, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	since, err := ctx.Monotonic()
	if err != nil {
		return nil, err
	}
	die, err := ctx.RandInt(1, 6)
	return []any{first, second, since, die}, err
}

func noted(ctx context, _ any) (any, error) {
	first, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	if err := ctx.Note("retry", map[string]int{"attempt": 2}); err != nil {
		return nil, err
	}
	second, err := ctx.Now()
	return []float64{first, second}, err
}

func race(ctx context, _ any) (any, error) {
	read := make(chan struct{})
	near := playhead.Start(ctx, "near", func() (string, error) {
		<-read
		return "near", nil
	})
	far := playhead.Start(ctx, "far", func() (string, error) { return "far", nil })
	t, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	winner := near
	select {
	case <-near.Done():
	case <-far.Done():
		winner = far
	}
	first, err := winner.Wait()
	if err != nil {
		return nil, err
	}
	u, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	close(read)
	if _, err := far.Wait(); err != nil {
		return nil, err
	}
	last, err := near.Wait()
	return map[string]any{"first": first, "at": []float64{t, u}, "last": last}, err
}

func abandon(ctx context, _ any) (string, error) {
	playhead.Start(ctx, "slow", hour)
	return "done", nil
}

var (
	keptContext context
	counted     int
)

func kept(ctx context, _ any) (any, error) {
	if ctx.Seq() == 0 {
		keptContext = ctx
		return nil, nil
	}
	_, err := keptContext.Now()
	if err == nil {
		return "no error", nil
	}
	return playhead.TypeOf(err), nil
}

func live(ctx context, _ any) (any, error) {
	made, err := playhead.Respond(ctx, "live", func() (string, error) {
		if _, err := ctx.Now(); err != nil {
			return "", err
		}
		_, err := ctx.Random()
		return "made", err
	})
	if err != nil {
		return nil, err
	}
	at, err := ctx.Now()
	return []any{made, at}, err
}

func notJSON(context, any) (any, error) {
	return map[string][]float64{"items": {1, math.NaN()}}, nil
}

func lanes(ctx context, _ any) (any, error) {
	at, err := ctx.Now()
	if err != nil {
		return nil, err
	}
	since, err := ctx.Monotonic()
	if err != nil {
		return nil, err
	}
	there, err := ctx.Lane("worker-1").Now()
	return []float64{at, since, there}, err
}

func leftBehind(ctx context, _ any) (any, error) {
	if ctx.Seq() == 0 {
		go func() {
			<-ctx.Done()
			_, _ = ctx.Now()
		}()
	}
	return nil, nil
}

func count(context, any) (int, error) {
	counted++
	return counted, nil
}

func main() {
	playhead.Serve(playhead.Functions{
		"nothing":       playhead.Func(func(context, any) (any, error) { return nil, nil }),
		"echo":          playhead.Func(func(_ context, event any) (any, error) { return event, nil }),
		"plus_one":      playhead.Func(plusOne),
		"now":           playhead.Func(func(ctx context, _ any) (float64, error) { return ctx.Now() }),
		"clocks":        playhead.Func(clocks),
		"seq_and_now":   playhead.Func(seqAndNow),
		"draws":         playhead.Func(draws),
		"draw_two":      playhead.Func(drawTwo),
		"uuid":          playhead.Func(func(ctx context, _ any) (string, error) { return ctx.UUID() }),
		"charge":        playhead.Func(charge),
		"quote":         playhead.Func(quote),
		"quote_in_eur":  playhead.Func(quoteInEUR),
		"quote_failing": playhead.Func(quoteFailing),
		"quote_or_null": playhead.Func(quoteOrNull),
		"slow":          playhead.Func(slow),
		"declined":      playhead.Func(declined),
		"testify":       playhead.Func(testify),
		"escaped":       playhead.Func(escaped),
		"caught":        playhead.Func(caught),
		"prints":        playhead.Func(prints),
		"reads":         playhead.Func(reads),
		"order":         playhead.Func(order),
		"readings":      playhead.Func(readings),
		"noted":         playhead.Func(noted),
		"race":          playhead.Func(race),
		"abandon":       playhead.Func(abandon),
		"kept":          playhead.Func(kept),
		"live":          playhead.Func(live),
		"not_json":      playhead.Func(notJSON),
		"lanes":         playhead.Func(lanes),
		"left_behind":   playhead.Func(leftBehind),
		"count":         playhead.Func(count),
	}, playhead.Options{Name: "conformance", Reset: func() error {
		keptContext, counted = nil, 0
		return nil
	}})
}
