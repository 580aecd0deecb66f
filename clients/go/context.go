package playhead

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Context is what a handler is given. Everything that could differ between two runs comes from here and goes to the
// tape. Inside a producer it answers live and says nothing: the producer's result is the boundary.
//
// It is a context.Context too: Done is closed when the call is cancelled, and when it has been answered. It may be used
// by several goroutines.
type Context struct {
	call *call
	lane []byte
}

var _ context.Context = (*Context)(nil)

var begun = time.Now()

// Seq is the event's number, from 0.
func (c *Context) Seq() int64 { return c.call.seq }

// Call is the call's number.
func (c *Context) Call() int64 { return c.call.number }

// Fn is the name of the function that was called.
func (c *Context) Fn() string { return c.call.fn }

// Now gives milliseconds since the Unix epoch: a whole number, unless the tape says otherwise.
func (c *Context) Now() (float64, error) {
	if c.live() {
		return float64(time.Now().UnixMilli()), nil
	}
	return asFloat(c.call.read("now", c.lane, true))
}

// Monotonic gives milliseconds of a clock that never goes back. Only differences mean anything.
func (c *Context) Monotonic() (float64, error) {
	if c.live() {
		return float64(time.Since(begun)) / float64(time.Millisecond), nil
	}
	return asFloat(c.call.read("now", append([]byte(`,"clock":"monotonic"`), c.lane...), false))
}

// Random gives a float in [0, 1).
func (c *Context) Random() (float64, error) {
	if c.live() {
		return rand.Float64(), nil
	}
	return asFloat(c.call.read("random", c.lane, true))
}

// RandInt gives an integer of [low, high], both ends included.
func (c *Context) RandInt(low, high int64) (int64, error) {
	if low > high {
		return 0, fmt.Errorf("no integer is at least %d and at most %d", low, high)
	}
	if c.live() {
		width := uint64(high) - uint64(low)
		if width+1 == 0 {
			return int64(rand.Uint64()), nil
		}
		return int64(uint64(low) + rand.Uint64N(width+1)), nil
	}
	text, err := c.call.read("random", fmt.Appendf(nil, `,"draw":"int","low":%d,"high":%d%s`, low, high, c.lane), false)
	if err != nil {
		return 0, err
	}
	if drawn, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return drawn, nil
	}
	drawn, err := asFloat(text, nil) // 4.0 and 1e2 are integers too.
	return int64(drawn), err
}

// RandBytes gives n bytes.
func (c *Context) RandBytes(n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("the number of bytes must not be negative: %d", n)
	}
	if c.live() {
		made := make([]byte, n)
		for i := range made {
			made[i] = byte(rand.Uint32())
		}
		return made, nil
	}
	text, err := c.call.read("random", fmt.Appendf(nil, `,"draw":"bytes","n":%d%s`, n, c.lane), false)
	if err != nil {
		return nil, err
	}
	drawn, err := unquote(text)
	if err != nil {
		return nil, unusable(text)
	}
	made, err := hex.DecodeString(drawn)
	if err != nil {
		return nil, unusable(text)
	}
	return made, nil
}

// SamplePositions gives k different positions below n, in the order drawn.
func (c *Context) SamplePositions(n, k int) ([]int, error) {
	if k < 0 || k > n {
		return nil, fmt.Errorf("cannot draw %d of %d", k, n)
	}
	if c.live() {
		return rand.Perm(n)[:k], nil
	}
	text, err := c.call.read("random", fmt.Appendf(nil, `,"draw":"sample","n":%d,"k":%d%s`, n, k, c.lane), false)
	if err != nil {
		return nil, err
	}
	drawn, err := decode[[]int](text)
	if err != nil {
		return nil, unusable(text)
	}
	for _, position := range drawn {
		if position < 0 || position >= n {
			return nil, unusable(text)
		}
	}
	return drawn, nil
}

// Sample gives k different items, in the order drawn.
func Sample[T any](ctx *Context, items []T, k int) ([]T, error) {
	positions, err := ctx.SamplePositions(len(items), k)
	if err != nil {
		return nil, err
	}
	made := make([]T, len(positions))
	for i, position := range positions {
		made[i] = items[position]
	}
	return made, nil
}

// UUID gives a UUID of version 4, made of 16 drawn bytes.
func (c *Context) UUID() (string, error) {
	drawn, err := c.RandBytes(16)
	if err != nil {
		return "", err
	}
	if len(drawn) != 16 {
		return "", unusable(drawn)
	}
	drawn[6] = drawn[6]&0x0F | 0x40
	drawn[8] = drawn[8]&0x3F | 0x80
	text := hex.EncodeToString(drawn)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:], nil
}

func asFloat(text []byte, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, unusable(text)
	}
	return value, nil
}

func unusable(text []byte) error {
	return &ProtocolError{Message: fmt.Sprintf("an answer that is none: %.200s", text)}
}

// Option is an option of Respond and Start.
type Option func(*asked)

type asked struct {
	args   []any
	kwargs map[string]any
}

// Args are the arguments of the question. They are taped and compared: a replay that asks with others has diverged.
func Args(values ...any) Option { return func(a *asked) { a.args = values } }

// Kwargs are named arguments.
func Kwargs(values map[string]any) Option { return func(a *asked) { a.kwargs = values } }

// Respond gives the answer to key: on record what produce returns, on replay what the tape holds, either way after a trip
// through JSON. An error of produce comes back as a *RecordedError, or as what a reviver makes of it.
//
// Questions of several goroutines of one call may be open at once. See Start for several of one goroutine.
func Respond[T any](ctx *Context, key string, produce func() (T, error), options ...Option) (T, error) {
	return begin(ctx, key, produce, options, false).Wait()
}

// Start asks the question of Respond without waiting for the answer. On record its producer runs at once.
func Start[T any](ctx *Context, key string, produce func() (T, error), options ...Option) *Pending[T] {
	return begin(ctx, key, produce, options, true)
}

// Pending is an answer that may not be here yet.
type Pending[T any] struct {
	question *question
	live     T // What a producer asked, inside another.
	err      error
	done     chan struct{}
}

// Done is closed when the answer has been handed over.
func (p *Pending[T]) Done() <-chan struct{} {
	if p.question != nil {
		return p.question.done
	}
	return p.done
}

// Wait waits for the answer and gives it, each time the same.
func (p *Pending[T]) Wait() (T, error) {
	if p.question == nil {
		return p.live, p.err
	}
	<-p.question.done
	if p.question.failure != nil {
		var none T
		return none, p.question.failure
	}
	return decode[T](p.question.value)
}

func begin[T any](ctx *Context, key string, produce func() (T, error), options []Option, started bool) *Pending[T] {
	made := &Pending[T]{done: closedChannel}
	if ctx.live() {
		if produce == nil {
			made.err = noProducer(key)
		} else {
			made.live, made.err = produce()
		}
		return made
	}
	q := &question{call: ctx.call, key: key, started: started, produce: func() ([]byte, error) {
		if produce == nil {
			return nil, noProducer(key)
		}
		value, err := produce()
		if err != nil {
			return nil, err
		}
		return encode(value)
	}}
	var question asked
	for _, option := range options {
		option(&question)
	}
	tail, err := question.tail(key)
	if err == nil {
		err = ctx.call.start(q, append(tail, ctx.lane...))
	}
	if err != nil {
		made.err = err
		return made
	}
	made.question = q
	return made
}

var closedChannel = func() chan struct{} {
	made := make(chan struct{})
	close(made)
	return made
}()

func noProducer(key string) error {
	return fmt.Errorf("the question %q has no producer, and the tape has no answer", key)
}

func (a *asked) tail(key string) ([]byte, error) {
	e := encoder{out: []byte(`,"key":`)}
	if err := e.text(key); err != nil {
		return nil, err
	}
	if len(a.args) > 0 {
		e.out = append(e.out, `,"args":`...)
		if err := e.value(a.args, 0, 0); err != nil {
			return nil, within(err, "args")
		}
	}
	if len(a.kwargs) > 0 {
		e.out = append(e.out, `,"kwargs":`...)
		if err := e.value(a.kwargs, 0, 0); err != nil {
			return nil, within(err, "kwargs")
		}
	}
	return e.out, nil
}

// Lane gives this call's context for one goroutine: its questions have an order among themselves only.
func (c *Context) Lane(name string) *Context {
	return &Context{c.call, appendLossy([]byte(`,"lane":`), name)}
}

// Note says that something happened. It is never fed back. data may be nil.
func (c *Context) Note(name string, data any) error {
	tail, err := withData(appendLossy([]byte(`,"name":`), name), "data", data)
	if err != nil {
		return err
	}
	return c.say("note", append(tail, c.lane...))
}

// Observe says what the handler believes name to be.
func (c *Context) Observe(name string, value any) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	tail := append(appendLossy([]byte(`,"name":`), name), `,"value":`...)
	return c.say("observe", append(append(tail, text...), c.lane...))
}

// Escaped says that something outside the tape was reached: on replay the call has then diverged. where may be "".
func (c *Context) Escaped(key, where string) error {
	tail := appendLossy([]byte(`,"key":`), key)
	if where != "" {
		tail = appendLossy(append(tail, `,"where":`...), where)
	}
	return c.say("escaped", append(tail, c.lane...))
}

// Span is a piece of work that has begun.
type Span struct {
	ctx  *Context
	sid  int64
	name string
	err  error
}

// Span says that a piece of work begins. data may be nil.
func (c *Context) Span(name string, data any) *Span {
	c.call.peer.mu.Lock()
	c.call.spans++
	s := &Span{ctx: c, sid: c.call.spans, name: name}
	c.call.peer.mu.Unlock()
	tail, err := withData(s.tail("begin"), "data", data)
	if err == nil {
		err = c.say("span", append(tail, c.lane...))
	}
	s.err = err
	return s
}

// End says that it has ended, and how: any value. It gives the error of the beginning, if there was one.
func (s *Span) End(outcome any) error {
	if s.err != nil {
		return s.err
	}
	tail, err := withData(s.tail("end"), "outcome", outcome)
	if err != nil {
		return err
	}
	return s.ctx.say("span", append(tail, s.ctx.lane...))
}

func (s *Span) tail(phase string) []byte {
	return appendLossy(fmt.Appendf(nil, `,"sid":%d,"phase":"%s","name":`, s.sid, phase), s.name)
}

func withData(tail []byte, name string, data any) ([]byte, error) {
	if data == nil {
		return tail, nil
	}
	text, err := encode(data)
	if err != nil {
		return nil, err
	}
	return append(append(append(append(tail, `,"`...), name...), `":`...), text...), nil
}

func (c *Context) say(method string, tail []byte) error {
	if c.live() {
		return nil
	}
	p := c.call.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.call.over {
		return nil
	}
	before := c.call.report()
	frame := appendNotification(before, method, c.call.number, tail)
	if size := len(frame) - len(before) - 1; size > p.limit {
		if before != nil {
			p.send(before)
		}
		return tooLong(size, p.limit)
	}
	p.send(frame)
	return nil
}

// live says whether a producer asks.
func (c *Context) live() bool {
	p := c.call.peer
	return p.producing.Load() > 0 && p.apart.has(goroutine())
}

// Deadline, Done, Err and Value make it a context.Context.
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the call has been cancelled, or answered.
func (c *Context) Done() <-chan struct{} {
	p := c.call.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.call.done == nil {
		c.call.done = make(chan struct{})
		if c.call.closed {
			close(c.call.done)
		}
	}
	return c.call.done
}

// Err is context.Canceled once Done is closed.
func (c *Context) Err() error {
	p := c.call.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.call.closed {
		return context.Canceled
	}
	return nil
}

// Value holds nothing.
func (c *Context) Value(any) any { return nil }

// Function is what serves a name: see Func.
type Function func(ctx *Context, event json.RawMessage) ([]byte, error)

// Func makes a function of a handler with types of its own. An event that does not fit E is an error of the call.
func Func[E, O any](handler func(ctx *Context, event E) (O, error)) Function {
	return func(ctx *Context, text json.RawMessage) ([]byte, error) {
		event, err := decode[E](text)
		if err != nil {
			return nil, err
		}
		output, err := handler(ctx, event)
		if err != nil {
			return nil, err
		}
		return encode(output)
	}
}
