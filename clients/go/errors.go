package playhead

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
)

// Errors: as data, E, and back. E is {"type", "message", "args"?, "data"?, "stack"?}.

// HandlerError is an error that is the same in every language: Type and Message go to the tape as they are.
type HandlerError struct {
	Type    string
	Message string
	Args    []any // Evidence: kept, never compared.
	Data    any   // Likewise.
}

func (e *HandlerError) Error() string { return e.Message }

// RecordedError is an error of a producer, as the tape has it. Where no reviver made another of it, the handler gets
// this, on record as on replay; returned by the handler, it leaves under the same type and message.
type RecordedError struct {
	Type    string
	Message string
	Args    []any
	Data    any
}

func (e *RecordedError) Error() string { return e.Message }

// NotJSON says that something was given away that JSON cannot carry. Pointer (RFC 6901) is the place in the value.
type NotJSON struct {
	Message string
	Pointer string
}

func (e *NotJSON) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Message + ", at " + e.Pointer
}

// DeterminismError says that the tape has no answer. Kind is the verdict's: question, order, exhausted, ...
type DeterminismError struct {
	Message string
	Kind    string
}

func (e *DeterminismError) Error() string { return e.Message }

// CallEnded says that a context was asked after its call had been answered.
type CallEnded struct{ Message string }

func (e *CallEnded) Error() string { return e.Message }

// Cancelled says that the call was given up, or was over, while the question was open. It is context.Canceled too.
type Cancelled struct{ Message string }

func (e *Cancelled) Error() string { return e.Message }

// Is makes errors.Is(err, context.Canceled) true.
func (e *Cancelled) Is(target error) bool { return target == context.Canceled }

// Forbidden says that a policy forbids to write what was asked or answered.
type Forbidden struct{ Message string }

func (e *Forbidden) Error() string { return e.Message }

// LimitExceeded says that something is larger than the largest frame, or deeper than the deepest value.
type LimitExceeded struct{ Message string }

func (e *LimitExceeded) Error() string { return e.Message }

// ProtocolError says that the daemon refused a message as such.
type ProtocolError struct {
	Message string
	Code    int
}

func (e *ProtocolError) Error() string { return e.Message }

// Panic is what a handler or a producer that panicked has raised.
type Panic struct {
	Value any
	stack string
}

func (e *Panic) Error() string { return fmt.Sprint(e.Value) }

// Unwrap gives the error that it panicked with, if it was one.
func (e *Panic) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func panicked(value any) error {
	stack := string(debug.Stack())
	if at := strings.Index(stack, "panic("); at > 0 {
		stack = stack[at:] // What stands in front of it is this package, which caught it.
	}
	return &Panic{Value: value, stack: stack[:min(len(stack), 4096)]}
}

// Reviver makes an error of the handler's own again of one on the tape; nil leaves it a *RecordedError.
type Reviver func(*RecordedError) error

// Sentinels is a reviver for errors that are variables: it gives the one with the message on the tape.
func Sentinels(known ...error) Reviver {
	return func(recorded *RecordedError) error {
		for _, err := range known {
			if err.Error() == recorded.Message {
				return err
			}
		}
		return nil
	}
}

// TypeOf gives the type that an error has on the tape: what a HandlerError or RecordedError in its chain says, else the
// name of its Go type, without package and pointer. What errors.New and fmt.Errorf make is "Error".
func TypeOf(err error) string {
	var own *HandlerError
	if errors.As(err, &own) {
		return own.Type
	}
	var recorded *RecordedError
	if errors.As(err, &recorded) {
		return recorded.Type
	}
	for {
		t := reflect.TypeOf(err)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if path := t.PkgPath(); path != "errors" && path != "fmt" && t.Name() != "" {
			return t.Name()
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return "Error"
		}
		err = inner
	}
}

// describe gives E for an error. Evidence that JSON cannot carry is left out.
func describe(err error) []byte {
	out := appendLossy([]byte(`{"type":`), TypeOf(err))
	out = appendLossy(append(out, `,"message":`...), textOf(err))
	var args []any
	var data any
	var own *HandlerError
	var recorded *RecordedError
	if errors.As(err, &own) {
		args, data = own.Args, own.Data
	} else if errors.As(err, &recorded) {
		args, data = recorded.Args, recorded.Data
	}
	if text, err := encode(args); err == nil && len(args) > 0 {
		out = append(append(out, `,"args":`...), text...)
	}
	if text, err := encode(data); err == nil && data != nil {
		out = append(append(out, `,"data":`...), text...)
	}
	var thrown *Panic
	if errors.As(err, &thrown) && thrown.stack != "" {
		out = appendLossy(append(out, `,"stack":`...), thrown.stack)
	}
	return append(out, '}')
}

func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	return err.Error()
}

// shortened gives E with no more than what is compared, and a text that fits any frame.
func shortened(err error) []byte {
	text := textOf(err)
	return describe(&HandlerError{Type: TypeOf(err), Message: text[:min(len(text), 4096)]})
}

// revive makes an error of E.
func revive(text []byte, revivers map[string]Reviver) error {
	recorded := &RecordedError{Type: "Error"}
	found, err := members(text)
	if err != nil {
		return &ProtocolError{Message: fmt.Sprintf("an answer with a malformed error: %.200s", text)}
	}
	for _, m := range found {
		switch m.key {
		case "type":
			recorded.Type, _ = unquote(m.value)
		case "message":
			recorded.Message, _ = unquote(m.value)
		case "args":
			recorded.Args, _ = decode[[]any](m.value)
		case "data":
			recorded.Data, _ = parse(m.value)
		}
	}
	if reviver := revivers[recorded.Type]; reviver != nil {
		if made := reviver(recorded); made != nil {
			return made
		}
	}
	switch recorded.Type { // Those of this package; Go finds no type by its name.
	case "NotJSON":
		return &NotJSON{Message: recorded.Message}
	case "DeterminismError":
		return &DeterminismError{Message: recorded.Message, Kind: "question"}
	case "CallEnded":
		return &CallEnded{recorded.Message}
	case "Cancelled":
		return &Cancelled{recorded.Message}
	case "Forbidden":
		return &Forbidden{recorded.Message}
	case "LimitExceeded":
		return &LimitExceeded{recorded.Message}
	}
	return recorded
}

// ofReply gives the error for the `error` of a reply to a question.
func ofReply(text []byte) error {
	told, err := decode[struct {
		Code    int
		Message string
		Data    struct{ Kind, Message string }
	}](text)
	if err != nil && told.Code == 0 {
		return &ProtocolError{Message: fmt.Sprintf("a reply that is none: %.200s", text)}
	}
	switch told.Code {
	case -32010:
		made := &DeterminismError{Message: told.Message, Kind: "question"}
		if told.Data.Message != "" {
			made.Message = told.Data.Message
		}
		if told.Data.Kind != "" {
			made.Kind = told.Data.Kind
		}
		return made
	case -32003:
		return &CallEnded{told.Message}
	case -32800:
		return &Cancelled{told.Message}
	case -32012:
		return &Forbidden{told.Message}
	case -32013:
		return &LimitExceeded{told.Message}
	}
	return &ProtocolError{Message: fmt.Sprintf("%s (%d)", told.Message, told.Code), Code: told.Code}
}
