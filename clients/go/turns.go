package playhead

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// One call: its questions in the order asked, its answers handed over one at a time.
//
// Where several questions are open, an answer is handed over when every goroutine of the process has come to rest: it
// waits for something, or has ended. So what the last answer woke has run. Go can say so: a dump of all stacks stops
// them all, and has the state of each. A goroutine that computes is waited for only so long, and behind that the order
// is open. A call that asks one question after another pays nothing for this.

const (
	restLimit = 200 * time.Millisecond
	lookAgain = 50 * time.Microsecond
	room      = 200 // Bytes for what stands around the members of a question.
)

// call is what is known of a call that runs, or ran. The peer's lock guards it.
type call struct {
	peer     *peer
	number   int64
	fn       string
	seq      int64
	revivers map[string]Reviver

	asks      int64
	spans     int64
	taken     [][]byte // Items of `asked` that have not been sent.
	produces  bool     // What nobody answers is produced here, and nothing about it is waited for.
	over      bool
	cancelled bool
	trouble   error // The next question, or the return of the handler, fails with it.

	open     map[*question]bool // Asked, and not handed over.
	plain    map[int64]chan reply
	many     bool // Several questions were open at once, or one was started and not waited for.
	arrivals []*question
	turning  bool
	done     chan struct{} // Closed when the call has ended, or was cancelled. Made when it is asked for.
	closed   bool
}

// question is an open `respond`.
type question struct {
	call    *call
	key     string
	ask     int64
	produce func() ([]byte, error) // Gives JSON text.
	started bool                   // By Start: nobody may be waiting.
	unasked bool                   // Reported, and so is its settlement: the daemon answers neither.
	made    []byte                 // What the producer made, as a member of `respond.settle`.
	ready   bool
	done    chan struct{} // Made where it is not ready at once.

	// The answer, once it is ready.
	value   []byte
	failure error
}

// takeTrouble gives what the next question fails with.
func (c *call) takeTrouble() error {
	trouble := c.trouble
	if !c.cancelled {
		c.trouble = nil
	}
	return trouble
}

func (c *call) next() int64 {
	number := c.asks
	c.asks++
	return number
}

// report gives what was taken and not told yet, as whole frames, for what is sent next to follow.
func (c *call) report() []byte {
	if len(c.taken) == 0 {
		return nil
	}
	items := c.taken
	c.taken = nil
	var out []byte
	for len(items) > 0 {
		n, size := 1, room+len(items[0])
		for n < len(items) && size+len(items[n])+1 <= c.peer.limit {
			size += len(items[n]) + 1
			n++
		}
		tail := append([]byte(`,"asks":[`), bytes.Join(items[:n], []byte{','})...)
		out = appendNotification(out, "asked", c.number, append(tail, ']'))
		items = items[n:]
	}
	return out
}

// item is what `asked` says of a question; tail is its members, each with a comma in front.
func item(method string, tail []byte) []byte {
	out := append([]byte(`{"m":"`), method...)
	if len(tail) == 0 {
		return append(out, `"}`...)
	}
	out = append(out, `","p":{`...)
	out = append(out, tail[1:]...)
	return append(out, "}}"...)
}

// read asks `now` or `random`, and waits. fed says that the feed may have the answer.
func (c *call) read(method string, tail []byte, fed bool) ([]byte, error) {
	p := c.peer
	p.mu.Lock()
	if trouble := c.takeTrouble(); trouble != nil {
		p.mu.Unlock()
		return nil, trouble
	}
	lane := &p.feed.now
	if method == "random" {
		lane = &p.feed.random
	}
	if fed && !c.over && p.feed.asking == 0 && len(*lane) > 0 {
		value := (*lane)[0]
		*lane = (*lane)[1:]
		c.next()
		c.taken = append(c.taken, item(method, tail))
		p.mu.Unlock()
		return value, nil
	}
	answered := make(chan reply, 1)
	number := c.next()
	err := p.ask(c, method, number, tail, c.report(), func(r reply) {
		delete(c.plain, number)
		p.feed.asking--
		answered <- r
	})
	if err != nil {
		c.asks = number
		p.mu.Unlock()
		return nil, err
	}
	p.feed.asking++
	c.plain[number] = answered
	p.mu.Unlock()
	r := <-answered
	p.mu.Lock()
	trouble := c.takeTrouble()
	p.mu.Unlock()
	if trouble != nil {
		return nil, trouble
	}
	if r.result == nil {
		return nil, ofReply(r.failure)
	}
	return r.result, nil
}

// start asks `respond`. What it gives is an error of the question itself, which then was not asked.
func (c *call) start(q *question, tail []byte) error {
	p := c.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if trouble := c.takeTrouble(); trouble != nil {
		return trouble
	}
	fits := !c.over && len(tail) <= p.limit-room // Asking says what is wrong.
	if given := p.feed.respond[q.key]; fits && len(given) > 0 {
		p.feed.respond[q.key] = given[1:]
		q.ask = c.next()
		c.taken = append(c.taken, item("respond", tail))
		c.opened(q)
		q.answered(given[0])
		c.arrived(q)
		return nil
	}
	if fits && c.produces {
		q.unasked = true
		q.ask = c.next()
		c.taken = append(c.taken, item("respond", tail))
		p.send(c.report())
		c.opened(q)
		c.offered(q)
		return nil
	}
	number := c.next()
	err := p.ask(c, "respond", number, tail, c.report(), func(r reply) {
		if r.result == nil {
			q.failure = ofReply(r.failure)
			c.arrived(q)
			return
		}
		if q.answered(r.result) {
			c.offered(q)
		} else {
			c.arrived(q)
		}
	})
	if err != nil {
		c.asks = number
		return err
	}
	q.ask = number
	c.opened(q)
	return nil
}

func (c *call) opened(q *question) {
	q.done = make(chan struct{})
	if c.open == nil {
		c.open = map[*question]bool{}
	}
	c.open[q] = true
	if q.started || len(c.open) > 1 {
		c.many = true
	}
}

// answered keeps the answer, or says that it is to be produced here.
func (q *question) answered(result []byte) (produce bool) {
	parts, _ := members(result)
	for _, part := range parts {
		switch part.key {
		case "value":
			q.value = part.value
			return false
		case "error":
			q.failure = revive(part.value, q.call.revivers)
			return false
		case "produce":
			if string(part.value) == "true" {
				return true
			}
		}
	}
	q.failure = unusable(result)
	return false
}

// offered runs the producer, in a goroutine of its own: the wait for it ends at once when the call does.
func (c *call) offered(q *question) {
	p := c.peer
	p.producing.Add(1)
	go func() {
		me := p.apart.add()
		value, err := q.produced()
		p.apart.remove(me)
		p.producing.Add(-1)
		p.mu.Lock()
		defer p.mu.Unlock()
		if q.ready {
			return // The call is over, or was cancelled.
		}
		if err == nil && len(value) > p.limit-room {
			err = tooLong(len(value), p.limit)
		}
		if err != nil {
			told := describe(err)
			if len(told) > p.limit-room {
				told = shortened(err)
			}
			q.made = append([]byte(`,"error":`), told...)
			q.failure = revive(told, c.revivers)
		} else {
			q.made = append([]byte(`,"value":`), value...)
			q.value = value
		}
		c.arrived(q)
	}()
}

func (q *question) produced() (value []byte, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = panicked(thrown)
		}
	}()
	return q.produce()
}

// arrived hands the answer over, or lets it wait for its turn.
func (c *call) arrived(q *question) {
	if q.ready {
		return
	}
	if !c.many || c.over {
		c.handOver(q)
		return
	}
	c.arrivals = append(c.arrivals, q)
	if !c.turning {
		c.turning = true
		go c.turns()
	}
}

// handOver settles what was produced, and gives the answer to whoever waits: no other ask comes in between.
func (c *call) handOver(q *question) {
	if q.ready {
		return
	}
	if q.made != nil {
		p := c.peer
		tail := append(strconv.AppendInt([]byte(`,"ask":`), q.ask, 10), q.made...)
		if q.unasked {
			c.taken = append(c.taken, item("respond.settle", tail))
			if c.many {
				p.send(c.report())
			} // Else it goes with what is sent next.
		} else {
			p.ids++
			p.waiting[p.ids] = waiter{c, func(r reply) {
				if r.failure != nil && c.trouble == nil && !c.over {
					c.trouble = ofReply(r.failure)
				}
			}}
			p.send(appendRequest(c.report(), p.ids, "respond.settle", c.number, q.ask, q.made))
		}
	}
	q.finish()
	delete(c.open, q)
}

func (q *question) finish() {
	q.ready = true
	close(q.done)
}

// turns hands over what has arrived, one answer at a time.
func (c *call) turns() {
	p := c.peer
	me := p.apart.add()
	defer p.apart.remove(me)
	for {
		p.awaitRest(c)
		p.mu.Lock()
		if len(c.arrivals) == 0 || c.over || c.cancelled {
			c.turning = false
			p.mu.Unlock()
			return
		}
		first := c.arrivals[0]
		c.arrivals = c.arrivals[1:]
		c.handOver(first)
		p.mu.Unlock()
	}
}

// awaitRest returns when no goroutine of the handler runs or could run.
func (p *peer) awaitRest(c *call) {
	started := time.Now()
	space := make([]byte, 16<<10)
	for {
		p.mu.Lock()
		asks := len(c.plain) // A time or a float is answered at once: whoever asked is about to go on.
		p.mu.Unlock()
		if asks > 0 {
			started = time.Now()
		} else {
			n := runtime.Stack(space, true)
			for n == len(space) && n < 1<<20 {
				space = make([]byte, 2*n)
				n = runtime.Stack(space, true)
			}
			if p.resting(space[:n]) {
				return
			}
		}
		if time.Since(started) > restLimit {
			return
		}
		time.Sleep(lookAgain)
	}
}

// resting reads a dump of all stacks. The peer's own goroutines, those of producers and the one that looks are left out.
func (p *peer) resting(dump []byte) bool {
	for _, stack := range bytes.Split(dump, []byte("\n\n")) {
		head, rest, _ := bytes.Cut(stack, []byte{'\n'})
		_, state, _ := strings.Cut(string(head), "[")
		runs := strings.HasPrefix(state, "runn") || strings.HasPrefix(state, "preempted") || strings.HasPrefix(state, "copystack")
		// What waits for signals does so in a call of the system, for ever.
		runs = runs || strings.HasPrefix(state, "syscall") && !bytes.HasPrefix(rest, []byte("os/signal."))
		if runs && !p.apart.has(goroutineOf(head)) {
			return false
		}
	}
	return true
}

// cancel fails what is open: the daemon gives the call up.
func (c *call) cancel() {
	if c.over || c.cancelled {
		return
	}
	c.cancelled = true
	c.trouble = &Cancelled{"the call was cancelled"}
	c.drop(c.trouble)
	c.close()
}

// end sends the call's answer. After it nothing of the call is settled or handed over, and nothing taken.
func (c *call) end(frame []byte) {
	p := c.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	c.over, c.produces = true, false
	p.send(append(c.report(), frame...))
	c.trouble = nil
	c.drop(&Cancelled{"the call is over"})
	c.close()
}

// drop fails every question that is open. Their replies, when they come, are for nobody.
func (c *call) drop(gone error) {
	for q := range c.open {
		q.failure, q.value = gone, nil
		q.finish()
	}
	c.open, c.arrivals = nil, nil
	for id, open := range c.peer.waiting {
		if open.call == c {
			delete(c.peer.waiting, id)
		}
	}
	for number, waits := range c.plain {
		delete(c.plain, number)
		c.peer.feed.asking--
		waits <- reply{failure: []byte(`{"code":-32800,"message":"` + gone.Error() + `"}`)}
	}
}

func (c *call) close() {
	if c.done != nil && !c.closed {
		close(c.done)
	}
	c.closed = true
}
