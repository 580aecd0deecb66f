package playhead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// Messages.

func TestWhatIsWrittenIsWhatEncodingJSONWrites(t *testing.T) {
	type inner struct {
		A int `json:"a"`
	}
	type embedded struct{ Deep string }
	value := struct {
		embedded
		*inner
		Name   string            `json:"name"`
		Left   string            `json:"left,omitempty"`
		Hidden string            `json:"-"`
		Quoted int64             `json:"quoted,string"`
		At     time.Time         `json:"at"`
		Map    map[string]uint8  `json:"map"`
		Any    any               `json:"any"`
		None   []string          `json:"none"`
		Array  [2]bool           `json:"array"`
		Raw    json.RawMessage   `json:"raw"`
		Big    *big.Int          `json:"big"`
		Nested map[string][]int8 `json:"nested"`
		lower  string
	}{
		embedded: embedded{"d"}, inner: &inner{5}, Name: "é\u2028\n\x01", Quoted: 7, At: time.Unix(1, 0).UTC(),
		Map: map[string]uint8{"b": 2, "a": 1}, Any: []any{1.5, "x", nil, 1e21, 1e-7, -0.5}, Raw: json.RawMessage(`{"x":[]}`),
		Big: new(big.Int).Lsh(big.NewInt(1), 70), Nested: map[string][]int8{"n": {1}}, lower: "no",
	}
	ours, err := encode(value)
	if err != nil {
		t.Fatal(err)
	}
	theirs, _ := json.Marshal(value)
	var one, other any
	if json.Unmarshal(ours, &one) != nil || json.Unmarshal(theirs, &other) != nil || !reflect.DeepEqual(one, other) {
		t.Errorf("\n%s\n%s", ours, theirs)
	}
}

func TestTextIsWrittenAsItIs(t *testing.T) {
	for value, expected := range map[string]string{
		"<>&":              `"<>&"`,
		"\u2028\U0001F600": "\"\u2028\U0001F600\"",
		"a\xed\xb0\x80b":   `"a\udc00b"`,
		"\"\\\x00\n":       `"\"\\\u0000\n"`,
	} {
		text, err := encode(value)
		if err != nil || string(text) != expected {
			t.Errorf("%q: %s, %v", value, text, err)
		}
		if back, err := decode[string](text); err != nil || back != value {
			t.Errorf("%s comes back as %q, %v", text, back, err)
		}
	}
}

type loop struct{ Next *loop }

func TestWhatJSONCannotCarryIsRefusedWithItsPlace(t *testing.T) {
	cycle := &loop{}
	cycle.Next = cycle
	deep := any(1)
	for range maxDepth + 1 {
		deep = []any{deep}
	}
	for expected, value := range map[string]any{
		"NaN is no JSON number, at /items/1":                                        map[string]any{"items": []any{1, math.NaN()}},
		"+Inf is no JSON number, at /a~1b":                                          map[string]float64{"a/b": math.Inf(1)},
		"a func() is nothing that JSON can carry, at /f":                            map[string]any{"f": func() {}},
		"bytes; JSON has none: say how they are to be written (hex, base64), at /0": []any{[]byte("x")},
		"a map with keys of the type int; those of JSON are strings":                map[int]int{1: 1},
		"text that is not UTF-8: byte 0xFF at 0":                                    "\xff",
		"a number that no float64 reaches: 1e999":                                   json.Number("1e999"),
		`"01" is no JSON number`:                                                    json.Number("01"),
	} {
		if _, err := encode(value); err == nil || err.Error() != expected {
			t.Errorf("%v, not %s", err, expected)
		}
	}
	if _, err := encode(cycle); err == nil || !strings.HasPrefix(err.Error(), "a cycle, at /Next/Next") {
		t.Error(err)
	}
	if _, err := encode(deep); TypeOf(err) != "LimitExceeded" {
		t.Error(err)
	}
}

func TestNumbersStayExact(t *testing.T) {
	for _, digits := range []string{"9007199254740993", "-18446744073709551617", "4.0", "1e2", "5e-324"} {
		value, err := decode[any]([]byte(digits))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := encode(value); err != nil || string(text) != digits {
			t.Errorf("%s comes back as %s, %v", digits, text, err)
		}
	}
	if value, err := decode[struct{ N int64 }]([]byte(`{"N":9007199254740993}`)); err != nil || value.N != 9007199254740993 {
		t.Error(value, err)
	}
	if value, err := decode[[]any]([]byte(`[9007199254740993]`)); err != nil || value[0] != json.Number("9007199254740993") {
		t.Error(value, err)
	}
}

func TestATypeThatCannotHoldHalfACharacterRefusesIt(t *testing.T) {
	if _, err := decode[struct{ S string }]([]byte(`{"S":"\ud83d"}`)); TypeOf(err) != "NotJSON" {
		t.Error(err)
	}
	if value, err := decode[struct{ S string }]([]byte(`{"S":"\ud83d\ude00 \\ud83d"}`)); err != nil || value.S != "😀 \\ud83d" {
		t.Error(value, err)
	}
}

func TestTextThatIsNotJSONIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", "[1", `{"a"}`, `{"a":1,}`, "[1,]", "nul", `"\x"`, `"\u12"`, "01", `{"a":1,"a":2}`, "1 2", "{]"} {
		if value, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, value)
		}
	}
}

func TestOnlyLFEndsAFrame(t *testing.T) {
	r := newFrameReader(iotest{strings.NewReader("a\u2028b\u0085\r\nlong " + strings.Repeat("x", 200_000) + "\n\ncut")})
	for _, expected := range []string{"a\u2028b\u0085", "long " + strings.Repeat("x", 200_000), ""} {
		if frame, err := r.next(); err != nil || string(frame) != expected {
			t.Fatalf("%.40q, %v", frame, err)
		}
	}
	if frame, err := r.next(); err != io.EOF {
		t.Fatalf("%q, %v", frame, err)
	}
	r = newFrameReader(strings.NewReader("12345\n"))
	r.limit = 4
	if _, err := r.next(); err == nil {
		t.Error("a frame that is too long")
	}
}

// iotest reads a few bytes at a time.
type iotest struct{ in io.Reader }

func (r iotest) Read(into []byte) (int, error) { return r.in.Read(into[:min(len(into), 7777)]) }

// Errors.

type custom struct{ code int }

func (e *custom) Error() string { return fmt.Sprint("code ", e.code) }

func TestErrorsBecomeDataAndComeBack(t *testing.T) {
	declined := &HandlerError{Type: "Declined", Message: "no funds"}
	for expected, err := range map[string]error{
		`{"type":"Declined","message":"no funds"}`:          declined,
		`{"type":"Declined","message":"charge: no funds"}`:  fmt.Errorf("charge: %w", declined),
		`{"type":"custom","message":"code 7"}`:              &custom{7},
		`{"type":"Error","message":"plain"}`:                errors.New("plain"),
		`{"type":"Timeout","message":"<t>","data":{"a":1}}`: &RecordedError{Type: "Timeout", Message: "<t>", Data: map[string]int{"a": 1}},
		`{"type":"custom","message":"w: code 7"}`:           fmt.Errorf("w: %w", &custom{7}),
	} {
		text := describe(err)
		if string(text) != expected {
			t.Errorf("%s, not %s", text, expected)
		}
		again := describe(revive(text, nil))
		if string(again) != expected {
			t.Errorf("%s comes back as %s", text, again)
		}
	}
	sentinel := errors.New("no rows")
	if err := revive([]byte(`{"type":"Error","message":"no rows"}`), map[string]Reviver{"Error": Sentinels(sentinel)}); err != sentinel {
		t.Error(err)
	}
	if !errors.Is(&Cancelled{}, context.Canceled) {
		t.Error("Cancelled is no context.Canceled")
	}
}

// Conversations, with a daemon that is a goroutine of this test.

type daemon struct {
	t      *testing.T
	to     *io.PipeWriter
	frames chan map[string]any
	ids    int
}

func talk(t *testing.T, functions Functions, options ...Options) *daemon {
	in, to := io.Pipe()
	from, out := io.Pipe()
	d := &daemon{t: t, to: to, frames: make(chan map[string]any, 1000)}
	s := newServer(functions, options)
	go s.run(in, out, func(int, string) { _ = out.Close(); select {} })
	go func() {
		r := newFrameReader(from)
		for {
			frame, err := r.next()
			if err != nil {
				close(d.frames)
				return
			}
			var made map[string]any
			if err := json.Unmarshal(frame, &made); err != nil {
				t.Errorf("%s: %v", frame, err)
			}
			d.frames <- made
		}
	}()
	t.Cleanup(func() { _ = to.Close() })
	d.request("initialize", `{"protocol":7,"capabilities":{"window":true,"reset":true,"x":true},"limits":{"frameBytes":100000}}`)
	return d
}

func (d *daemon) send(text string) {
	if _, err := d.to.Write([]byte(text + "\n")); err != nil {
		d.t.Error(err)
	}
}

func (d *daemon) next() map[string]any {
	d.t.Helper()
	select {
	case frame := <-d.frames:
		return frame
	case <-time.After(10 * time.Second):
		d.t.Fatal("nothing comes")
		return nil
	}
}

func (d *daemon) request(method, params string) map[string]any {
	d.ids++
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, d.ids, method, params))
	return d.next()
}

func (d *daemon) handle(call int, more string) {
	d.ids++
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"handle","params":{"call":%d,"fn":"f","event":null,"seq":%d%s}}`, d.ids, call, call, more))
}

func (d *daemon) answer(asked map[string]any, result string) {
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, asked["id"], result))
}

func text(value any) string {
	made, _ := encode(value)
	return string(made)
}

func served(f func(ctx *Context) (any, error)) Functions {
	return Functions{"f": Func(func(ctx *Context, _ any) (any, error) { return f(ctx) })}
}

// Goroutines of one call ask side by side: no number comes twice, and they are sent in their order.
func TestNumberingAndSendingIsOneStep(t *testing.T) {
	const many = 64
	d := talk(t, served(func(ctx *Context) (any, error) {
		var all sync.WaitGroup
		for range many {
			all.Add(1)
			go func() {
				defer all.Done()
				if _, err := ctx.Now(); err != nil {
					t.Error(err)
				}
			}()
		}
		all.Wait()
		return nil, nil
	}))
	d.handle(0, "")
	for number := range many {
		asked := d.next()
		if got := asked["params"].(map[string]any)["ask"]; got != float64(number) {
			t.Fatalf("%v, not %d", got, number)
		}
		d.answer(asked, "1")
	}
	if done := text(d.next()["result"]); done != `{"output":null}` {
		t.Error(done)
	}
}

// Each goroutine adds to one list what it got, and does some work first: the list has the order of the answers, though
// all answers are here at once.
func TestAnswersAreHandedOverOneATurn(t *testing.T) {
	const many = 12
	d := talk(t, served(func(ctx *Context) (any, error) {
		var all sync.WaitGroup
		var lock sync.Mutex
		order := []string{}
		for i := range many {
			pending := Start[string](ctx, fmt.Sprint("k", i), nil)
			all.Add(1)
			go func() {
				defer all.Done()
				got, err := pending.Wait()
				if err != nil {
					t.Error(err)
				}
				work := 0
				for j := range 200_000 * (many - i) {
					work += j
				}
				step := make(chan int, 1)
				go func() { step <- work }()
				<-step
				lock.Lock()
				order = append(order, got)
				lock.Unlock()
			}()
		}
		all.Wait()
		return order, nil
	}))
	d.handle(0, "")
	asked := make([]map[string]any, many)
	for i := range asked {
		asked[i] = d.next()
	}
	expected := []string{}
	var all bytes.Buffer
	for i := range asked {
		one := asked[(i*5+3)%many]
		key := one["params"].(map[string]any)["key"].(string)
		expected = append(expected, key)
		fmt.Fprintf(&all, "{\"jsonrpc\":\"2.0\",\"id\":%v,\"result\":{\"value\":%q}}\n", one["id"], key)
	}
	d.send(strings.TrimSuffix(all.String(), "\n"))
	if done := text(d.next()["result"]); done != text(map[string]any{"output": expected}) {
		t.Error(done, expected)
	}
}

func TestAPanicIsAnErrorOfTheCall(t *testing.T) {
	d := talk(t, served(func(ctx *Context) (any, error) { panic("gone wrong") }))
	d.handle(0, "")
	raised := d.next()["result"].(map[string]any)["raised"].(map[string]any)
	if raised["type"] != "Panic" || raised["message"] != "gone wrong" || !strings.Contains(raised["stack"].(string), "playhead_test.go") {
		t.Error(raised)
	}
}

func TestAProducersErrorIsRevived(t *testing.T) {
	noFunds := errors.New("no funds")
	d := talk(t, served(func(ctx *Context) (any, error) {
		_, err := Respond(ctx, "account", func() (int, error) { return 0, noFunds })
		_, other := Respond(ctx, "other", func() (int, error) { panic("in it") })
		var recorded *RecordedError
		return []any{err == noFunds, errors.As(other, &recorded), TypeOf(other), other.Error()}, nil
	}), Options{Revivers: map[string]Reviver{"Error": Sentinels(noFunds)}})
	d.handle(0, `,"window":{"produce":true}`)
	for _, expected := range []string{
		`[{"m":"respond","p":{"key":"account"}}]`,
		`[{"m":"respond.settle","p":{"ask":0,"error":{"message":"no funds","type":"Error"}}},{"m":"respond","p":{"key":"other"}}]`,
	} {
		if asks := text(d.next()["params"].(map[string]any)["asks"]); asks != expected {
			t.Error(asks)
		}
	}
	d.next()
	if done := text(d.next()["result"]); done != `{"output":[true,true,"Panic","in it"]}` {
		t.Error(done)
	}
}

func TestASettlementThatIsRefusedFailsTheReturn(t *testing.T) {
	refused := make(chan bool)
	d := talk(t, served(func(ctx *Context) (any, error) {
		value, err := Respond(ctx, "k", func() (int, error) { return 1, nil })
		<-refused
		return value, err
	}))
	d.handle(0, "")
	d.answer(d.next(), `{"produce":true}`)
	settled := d.next()
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32012,"message":"by rule"}}`, settled["id"]))
	d.request("shutdown", "{}") // Answered behind what came before it.
	close(refused)
	if done := text(d.next()["result"]); done != `{"raised":{"message":"by rule","type":"Forbidden"}}` {
		t.Error(done)
	}
}

func TestACancelEndsTheContextAndWhatIsOpen(t *testing.T) {
	d := talk(t, served(func(ctx *Context) (any, error) {
		pending := Start(ctx, "slow", func() (int, error) {
			<-ctx.Done()
			return 1, nil
		})
		_, err := pending.Wait()
		if !errors.Is(err, context.Canceled) || ctx.Err() == nil {
			t.Error(err, ctx.Err())
		}
		_, err = ctx.Now()
		if TypeOf(err) != "Cancelled" {
			t.Error(err)
		}
		return "whatever", nil
	}))
	d.handle(0, "")
	d.answer(d.next(), `{"produce":true}`)
	d.send(`{"jsonrpc":"2.0","method":"cancel","params":{"call":0}}`)
	if done := text(d.next()["result"]); done != `{"raised":{"message":"the call was cancelled","type":"Cancelled"}}` {
		t.Error(done)
	}
}

func TestAFrameThatCannotBeReadIsToldOnBothSidesAndEndsTheProcess(t *testing.T) {
	for line, code := range map[string]int{
		"what?": -32700, "\xff": -32700, "[1]": -32600, `{"jsonrpc":"2.0","id":1,"method":5}`: -32600,
		`{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}`: -32600,
	} {
		in, to := io.Pipe()
		var out bytes.Buffer
		done := make(chan string)
		s := newServer(served(func(*Context) (any, error) { return nil, nil }), nil)
		go s.run(in, &out, func(status int, fault string) {
			done <- fmt.Sprint(status, fault)
			select {}
		})
		if _, err := to.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		if ended := <-done; !strings.HasPrefix(ended, "1") || len(ended) < 10 {
			t.Errorf("%q ends with %s", line, ended)
		}
		if told := fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,`, code); !strings.HasPrefix(out.String(), told) {
			t.Errorf("%q is answered with %s", line, &out)
		}
		_ = to.Close()
	}
}

func TestAnswersThatNobodyWaitsForAreDropped(t *testing.T) {
	d := talk(t, served(func(*Context) (any, error) { return 5, nil }))
	for _, id := range []string{"77", `"1"`, "null", "-1", "2.5", "1000000000000000000000000000000"} {
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":1}`, id))
	}
	d.handle(0, "")
	if output := d.next()["result"]; fmt.Sprint(output) != "map[output:5]" {
		t.Error(output)
	}
}

func TestAReadingWithAFractionStaysAsItIs(t *testing.T) {
	d := talk(t, served(func(ctx *Context) (any, error) { return ctx.Now() }))
	d.handle(0, "")
	d.answer(d.next(), "1783036800000.5")
	if output := d.next()["result"].(map[string]any)["output"]; output != 1783036800000.5 {
		t.Error(output)
	}
}

func TestWhyAResetFailedIsNotSent(t *testing.T) {
	functions := served(func(*Context) (any, error) { return nil, nil })
	d := talk(t, functions, Options{Reset: func() error { return errors.New("still busy") }})
	refused := d.request("reset", `{"constants":{}}`)["error"]
	if fmt.Sprint(refused) != "map[code:-32603 message:the handler could not be made new]" {
		t.Error(refused)
	}
}

func TestAnAnswerLargerThanAFrameIsAnError(t *testing.T) {
	d := talk(t, served(func(ctx *Context) (any, error) {
		_, err := Respond[any](ctx, strings.Repeat("k", 200_000), nil)
		if TypeOf(err) != "LimitExceeded" {
			t.Error(err)
		}
		_, err = Respond(ctx, "k", func() (string, error) { return strings.Repeat("v", 200_000), nil })
		if TypeOf(err) != "LimitExceeded" {
			t.Error(err)
		}
		return strings.Repeat("v", 200_000), nil
	}))
	d.handle(0, "")
	asked := d.next()
	if number := asked["params"].(map[string]any)["ask"]; number != float64(0) {
		t.Error(number)
	}
	d.answer(asked, `{"produce":true}`)
	d.answer(d.next(), "{}")
	if raised := d.next()["result"].(map[string]any)["raised"].(map[string]any); raised["type"] != "LimitExceeded" {
		t.Error(raised)
	}
}

func TestAnEventThatDoesNotFitIsAnErrorOfTheCall(t *testing.T) {
	d := talk(t, Functions{"f": Func(func(_ *Context, event []string) (any, error) { return event, nil })})
	d.handle(0, "")
	if done := text(d.next()["result"]); done != `{"output":null}` {
		t.Error(done)
	}
	wrong := d.request("handle", `{"call":1,"fn":"f","event":7,"seq":1}`)
	if raised := wrong["result"].(map[string]any)["raised"].(map[string]any); raised["type"] != "UnmarshalTypeError" {
		t.Error(wrong)
	}
}
