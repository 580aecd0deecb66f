package playhead

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Peer: one end of the conversation. Questions go out, answers find whoever asked, whichever goroutine that is. One
// goroutine reads at all times, so the end of input and a cancel are seen whatever the handler does.

type reply struct {
	result  []byte
	failure []byte // The member `error`.
}

// waiter is a request of ours that is open. arrive runs under the peer's lock.
type waiter struct {
	call   *call
	arrive func(reply)
}

// request is what the daemon wants done in its turn.
type request struct {
	id        []byte
	reset     bool
	call      int64
	fn        string
	event     []byte
	seq       int64
	window    []byte
	withdrawn bool // Of the window only `produce` holds.
	givenUp   bool // Cancelled before it began.
}

// feed holds the answers that were given ahead, as text.
type feed struct {
	now     [][]byte
	random  [][]byte
	respond map[string][][]byte
	asking  int // Questions after a time or a float that are open: nothing is taken from these two lanes then.
}

func (f *feed) clear() { f.now, f.random, f.respond = nil, nil, nil }

type peer struct {
	in     *frameReader
	out    io.Writer
	answer func(message) // What can be said at once is said there; what has its turn goes to the inbox. Under mu.
	ended  func(status int, fault string)
	apart  goroutineSet // Those whose work is not the handler's: who reads, hands over, or runs a producer.

	producing atomic.Int64

	// Numbering a question and sending it are one step, under mu. It guards everything below, and all of every call.
	mu      sync.Mutex
	limit   int
	ids     int64
	waiting map[int64]waiter
	inbox   []*request
	more    *sync.Cond
	feed    feed
}

func newPeer(in io.Reader, out io.Writer, ended func(int, string)) *peer {
	p := &peer{in: newFrameReader(in), out: out, ended: ended, limit: maxFrameBytes, waiting: map[int64]waiter{}}
	p.more = sync.NewCond(&p.mu)
	return p
}

// send writes whole frames. Under mu.
func (p *peer) send(frames []byte) {
	if _, err := p.out.Write(frames); err != nil {
		p.ended(0, "") // The daemon is gone.
	}
}

// ask sends a request with the next id. Under mu.
func (p *peer) ask(c *call, method string, ask int64, tail []byte, before []byte, arrive func(reply)) error {
	id := p.ids + 1
	frame := appendRequest(before, id, method, c.number, ask, tail)
	if size := len(frame) - len(before) - 1; size > p.limit {
		return tooLong(size, p.limit)
	}
	p.ids = id
	p.waiting[id] = waiter{c, arrive}
	p.send(frame)
	return nil
}

func tooLong(size, limit int) error {
	return &LimitExceeded{fmt.Sprintf("a frame of %d bytes; the largest is %d", size, limit)}
}

// next waits for what is to be done next. begin sees it under the same lock: what arrives now concerns it either in
// the inbox or as what has begun.
func (p *peer) next(begin func(*request)) *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.inbox) == 0 {
		p.more.Wait()
	}
	first := p.inbox[0]
	p.inbox = p.inbox[1:]
	begin(first)
	return first
}

func (p *peer) queue(r *request) {
	p.inbox = append(p.inbox, r)
	p.more.Signal()
}

// message is a frame, taken apart as far as all have it in common.
type message struct {
	id     []byte
	method string
	params []byte
	reply  reply
}

// read takes in frames until the end of input.
func (p *peer) read() {
	p.apart.add()
	for {
		frame, err := p.in.next()
		if err == io.EOF {
			p.ended(0, "")
			return
		}
		if err != nil {
			if _, broken := err.(*os.PathError); broken {
				p.ended(0, "")
				return
			}
			p.giveUp(unreadable, err.Error())
			return
		}
		if len(frame) == 0 {
			continue
		}
		if code, fault := p.take(frame); fault != "" {
			p.giveUp(code, fault)
			return
		}
		if !p.in.ready() {
			runtime.Gosched() // A read holds the processor for a while; first whoever was woken goes on.
		}
	}
}

// Why a frame is no message, as the daemon is told.
const (
	unreadable = -32700
	noMessage  = -32600
)

// giveUp tells that a frame could not be read: nothing can be said about a conversation that is no longer one.
func (p *peer) giveUp(code int, fault string) {
	said := "the frame is not one JSON text"
	if code == noMessage {
		said = "the frame is not a JSON-RPC 2.0 message"
	}
	p.mu.Lock()
	p.send(refusal(nil, code, said, ""))
	p.mu.Unlock()
	p.ended(1, fault)
}

// take gives the code and the fault of a frame that is no message.
func (p *peer) take(frame []byte) (int, string) {
	if !utf8.Valid(frame) {
		return unreadable, fmt.Sprintf("not UTF-8: %.200q", frame)
	}
	parts, err := members(frame)
	if err != nil {
		code := unreadable
		if json.Valid(frame) {
			code = noMessage
		}
		return code, fmt.Sprintf("not a message: %.200q: %v", frame, err)
	}
	var m message
	for _, part := range parts {
		switch part.key {
		case "id":
			m.id = part.value
		case "method":
			if m.method, err = unquote(part.value); err != nil {
				return noMessage, fmt.Sprintf("not a message: %.200q: %v", frame, err)
			}
		case "params":
			m.params = part.value
		case "result":
			m.reply.result = part.value
		case "error":
			m.reply.failure = part.value
		}
	}
	if m.method != "" && m.id != nil && !isID(m.id) {
		return noMessage, fmt.Sprintf("not a message: %.200q: an id is an integer or a string", frame)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.method != "" {
		p.answer(m)
		return 0, ""
	}
	id, err := strconv.ParseInt(string(m.id), 10, 64)
	if err != nil {
		return 0, ""
	}
	if open, ok := p.waiting[id]; ok {
		delete(p.waiting, id)
		open.arrive(m.reply)
	}
	return 0, ""
}

// goroutineSet knows goroutines by the number that their stack traces show: Go has no other name for them.
type goroutineSet struct{ known sync.Map }

func (s *goroutineSet) add() uint64 {
	me := goroutine()
	s.known.Store(me, true)
	return me
}

func (s *goroutineSet) remove(id uint64) { s.known.Delete(id) }

func (s *goroutineSet) has(id uint64) bool {
	_, ok := s.known.Load(id)
	return ok
}

func goroutine() uint64 {
	var space [64]byte
	text := space[:runtime.Stack(space[:], false)]
	return goroutineOf(text)
}

// goroutineOf reads N of "goroutine N [state]:".
func goroutineOf(text []byte) uint64 {
	const prefix = "goroutine "
	var id uint64
	for i := len(prefix); i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		id = id*10 + uint64(text[i]-'0')
	}
	return id
}
