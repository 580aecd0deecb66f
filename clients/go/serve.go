// Package playhead serves handlers to the playhead daemon that started this process.
//
// A handler is a function of a Context and an event. Whatever could differ between two runs comes from the context, so
// an incident that was recorded once can be replayed for ever. The parts, each a file: framing, message (and encode),
// peer, turns, context, serve, errors.
package playhead

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
)

// Version is that of this library.
const Version = "0.1.0"

const protocolVersion = 1

// Functions are those that are served, by name. One alone is called "handler" by custom.
type Functions map[string]Function

// Options are those of Serve.
type Options struct {
	// Name is the handler's; the program's where it is empty.
	Name string
	// Constants are told to the daemon and go to the tape.
	Constants map[string]any
	// Revivers make errors of the handler's own again, by the type on the tape.
	Revivers map[string]Reviver
	// Reset drops all that the handlers hold in memory, so that this process is as good as a fresh one. With it one
	// process may be given many tapes; without it that is not offered.
	Reset func() error
}

// Serve answers the daemon until it closes this process's stdin. The process ends then, with status 0, whatever it is
// doing. From here on the real stdin and stdout are the protocol's: what is printed goes to stderr, what is read is empty.
// It panics for functions that cannot be served.
func Serve(functions Functions, options ...Options) {
	s := newServer(functions, options)
	in, out, err := takeStdio()
	if err != nil {
		fmt.Fprintln(os.Stderr, "playhead: stdin and stdout cannot be taken:", err)
		os.Exit(1)
	}
	s.run(in, out, func(status int, fault string) {
		if fault != "" {
			fmt.Fprintln(os.Stderr, "playhead: the daemon broke the protocol:", fault)
		}
		os.Exit(status)
	})
}

type server struct {
	functions   Functions
	options     Options
	constants   []byte
	peer        *peer
	initialized bool
	offersReset bool
	windows     bool
	current     *call
}

func newServer(functions Functions, options []Options) *server {
	s := &server{functions: functions}
	if len(options) > 1 {
		panic("playhead: one Options is enough")
	}
	if len(options) == 1 {
		s.options = options[0]
	}
	if len(functions) == 0 {
		panic("playhead: no functions to serve")
	}
	for name, function := range functions {
		if function == nil {
			panic("playhead: the function " + name + " is nil")
		}
	}
	if s.options.Name == "" {
		s.options.Name = filepath.Base(os.Args[0])
	}
	if s.options.Constants == nil {
		s.options.Constants = map[string]any{}
	}
	constants, err := encode(s.options.Constants)
	if err != nil {
		panic("playhead: the constants: " + err.Error())
	}
	s.constants = constants
	return s
}

// run serves until ended is called, which does not come back.
func (s *server) run(in io.Reader, out io.Writer, ended func(int, string)) {
	s.peer = newPeer(in, out, ended)
	s.peer.answer = s.answer
	go s.peer.read()
	for {
		r := s.peer.next(s.begin)
		if r.reset {
			s.renew(r)
		} else {
			s.handle(r)
		}
	}
}

// answer says what can be said at once; what has its turn goes to the inbox. Under the peer's lock.
func (s *server) answer(m message) {
	if m.id == nil {
		switch m.method {
		case "cancel":
			s.cancel(m.params)
		case "withdraw":
			s.peer.feed.clear()
			for _, r := range s.peer.inbox {
				r.withdrawn = true
			}
		}
		return
	}
	if m.method == "initialize" {
		s.peer.send(s.initialize(m))
		return
	}
	if !s.initialized {
		s.peer.send(refusal(m.id, -32002, "initialize has not been answered", ""))
		return
	}
	switch {
	case m.method == "handle":
		r, fault := s.request(m)
		if fault != "" {
			s.peer.send(refusal(m.id, -32602, fault, ""))
			return
		}
		s.peer.queue(r)
	case m.method == "shutdown":
		s.peer.send(appendReply(nil, m.id, []byte("{}")))
	case m.method == "reset" && s.offersReset:
		s.peer.queue(&request{id: m.id, reset: true})
	default:
		s.peer.send(refusal(m.id, -32601, "no such method: "+m.method, ""))
	}
}

func isID(text []byte) bool {
	if text[0] == '"' {
		return true
	}
	for i, c := range text {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}

func (s *server) initialize(m message) []byte {
	if s.initialized {
		return refusal(m.id, -32600, "initialize has been answered already", "")
	}
	params, _ := members(m.params)
	offered := int64(0)
	var capabilities []member
	for _, part := range params {
		switch part.key {
		case "protocol":
			offered, _ = strconv.ParseInt(string(part.value), 10, 64)
		case "capabilities":
			capabilities, _ = members(part.value)
		case "limits":
			limits, _ := members(part.value)
			for _, limit := range limits {
				if size, err := strconv.Atoi(string(limit.value)); err == nil && limit.key == "frameBytes" && size > 0 {
					s.peer.limit = size
				}
			}
		}
	}
	if offered < protocolVersion {
		return refusal(m.id, -32001, "no common protocol version", fmt.Sprintf(`{"supported":[%d]}`, protocolVersion))
	}
	agreed := map[string]bool{}
	for _, capability := range capabilities {
		offered := string(capability.value) == "true"
		if offered && (capability.key == "window" || capability.key == "reset" && s.options.Reset != nil) {
			agreed[capability.key] = true
		}
	}
	s.windows, s.offersReset = agreed["window"], agreed["reset"]
	names := make([]string, 0, len(s.functions))
	for name := range s.functions {
		names = append(names, name)
	}
	sort.Strings(names)
	result, err := encode(struct {
		Protocol     int               `json:"protocol"`
		Handler      map[string]string `json:"handler"`
		Functions    []string          `json:"functions"`
		Capabilities map[string]bool   `json:"capabilities"`
		Constants    map[string]any    `json:"constants"`
	}{
		protocolVersion,
		map[string]string{"name": s.options.Name, "version": Version, "language": "go", "runtime": runtime.Version()},
		names, agreed, s.options.Constants,
	})
	if err != nil {
		return refusal(m.id, -32603, "the handler cannot say what it is", "")
	}
	s.initialized = true
	return appendReply(nil, m.id, result)
}

func (s *server) request(m message) (*request, string) {
	r := &request{id: m.id, call: -1}
	params, err := members(m.params)
	if err != nil {
		return nil, "handle needs an object"
	}
	for _, part := range params {
		switch part.key {
		case "call":
			if r.call, err = strconv.ParseInt(string(part.value), 10, 64); err != nil {
				return nil, "handle needs an integer: call"
			}
		case "fn":
			r.fn, _ = unquote(part.value)
		case "event":
			r.event = part.value
		case "seq":
			r.seq, _ = strconv.ParseInt(string(part.value), 10, 64)
		case "window":
			r.window = part.value
		}
	}
	if r.call < 0 {
		return nil, "handle needs an integer: call"
	}
	if r.event == nil {
		return nil, "handle needs an event"
	}
	if s.functions[r.fn] == nil {
		return nil, "no such function: " + r.fn
	}
	return r, ""
}

func (s *server) cancel(params []byte) {
	parts, _ := members(params)
	for _, part := range parts {
		number, err := strconv.ParseInt(string(part.value), 10, 64)
		if part.key != "call" || err != nil {
			continue
		}
		if s.current != nil && s.current.number == number {
			s.current.cancel()
		}
		for _, r := range s.peer.inbox {
			if !r.reset && r.call == number {
				r.givenUp = true
			}
		}
	}
}

// begin makes a request that is taken out of the inbox the one that runs. Under the peer's lock.
func (s *server) begin(r *request) {
	if r.reset {
		return
	}
	s.current = &call{
		peer: s.peer, number: r.call, fn: r.fn, seq: r.seq, revivers: s.options.Revivers, plain: map[int64]chan reply{},
	}
	if r.window != nil && s.windows {
		s.open(r)
	}
	if r.givenUp {
		s.current.cancel()
	}
}

// open adds a window to the feed.
func (s *server) open(r *request) {
	parts, _ := members(r.window)
	f := &s.peer.feed
	for _, part := range parts {
		switch {
		case part.key == "produce":
			s.current.produces = string(part.value) == "true"
		case r.withdrawn:
		case part.key == "now":
			values, _ := elements(part.value)
			f.now = append(f.now, values...)
		case part.key == "random":
			values, _ := elements(part.value)
			f.random = append(f.random, values...)
		case part.key == "respond":
			keys, _ := members(part.value)
			for _, key := range keys {
				if f.respond == nil {
					f.respond = map[string][][]byte{}
				}
				values, _ := elements(key.value)
				f.respond[key.key] = append(f.respond[key.key], values...)
			}
		}
	}
}

func (s *server) handle(r *request) {
	c := s.current
	output, err := s.invoke(c, r)
	s.peer.mu.Lock()
	if trouble := c.takeTrouble(); trouble != nil {
		err = trouble // Cancelled, whatever the handler made of it: the daemon has given this call up.
	}
	limit := s.peer.limit
	s.peer.mu.Unlock()
	var result []byte
	if err == nil && len(output) > limit-room {
		err = tooLong(len(output), limit)
	}
	if err != nil {
		told := describe(err)
		if len(told) > limit-room {
			told = shortened(err)
		}
		result = append(append([]byte(`{"raised":`), told...), '}')
	} else {
		result = append(append([]byte(`{"output":`), output...), '}')
	}
	c.end(appendReply(nil, r.id, result))
}

func (s *server) invoke(c *call, r *request) (output []byte, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = panicked(thrown)
		}
	}()
	s.peer.mu.Lock()
	trouble := c.trouble
	s.peer.mu.Unlock()
	if trouble != nil {
		return nil, trouble
	}
	return s.functions[r.fn](&Context{call: c}, r.event)
}

func (s *server) renew(r *request) {
	err := func() (err error) {
		defer func() {
			if thrown := recover(); thrown != nil {
				err = panicked(thrown)
			}
		}()
		return s.options.Reset()
	}()
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	s.peer.feed.clear()
	if err != nil {
		fmt.Fprintln(os.Stderr, "playhead: the handler could not be made new:", err)
		s.peer.send(refusal(r.id, -32603, "the handler could not be made new", ""))
		return
	}
	s.peer.send(appendReply(nil, r.id, []byte("{}")))
}
