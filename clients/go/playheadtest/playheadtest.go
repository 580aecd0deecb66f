// Package playheadtest verifies recordings in `go test`:
//
//	func TestRecordings(t *testing.T) {
//		playheadtest.Verify(t, "testdata/recordings", "go", "run", "./handler")
//	}
package playheadtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type verdict struct {
	Recording  string `json:"recording"`
	OK         bool   `json:"ok"`
	Divergence *struct {
		Kind     string          `json:"kind"`
		Seq      *int64          `json:"seq"`
		Pointer  string          `json:"pointer"`
		Expected json.RawMessage `json:"expected"`
		Actual   json.RawMessage `json:"actual"`
		Message  string          `json:"message"`
	} `json:"divergence"`
	Error *fault `json:"error"`
}

type fault struct {
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

type verdicts struct {
	OK      bool      `json:"ok"`
	Results []verdict `json:"results"`
	Error   *fault    `json:"error"`
}

// Verify replays the recordings of a folder, or one recording, against the handler that command starts: a subtest each.
// What verifies is the program `playhead`, found on PATH or named by the environment variable PLAYHEAD.
func Verify(t *testing.T, recordings string, command ...string) {
	t.Helper()
	found, err := verify(recordings, command)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		t.Run(filepath.Base(one.Recording), func(t *testing.T) {
			if !one.OK {
				t.Error(one.text())
			}
		})
	}
}

func verify(recordings string, command []string) ([]verdict, error) {
	program := os.Getenv("PLAYHEAD")
	if program == "" {
		program = "playhead"
	}
	args := append([]string{"verify", recordings, "--json", "--"}, command...)
	run := exec.Command(program, args...)
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("playhead cannot be started: %w; install it (pip install playhead), or name it in PLAYHEAD", err)
	}
	var told verdicts
	if json.Unmarshal(out, &told) != nil {
		return nil, fmt.Errorf("%s %s gave no verdict: %v\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	if told.Error != nil {
		return nil, fmt.Errorf("%s %s", told.Error.Message, told.Error.Hint)
	}
	if len(told.Results) == 0 || told.OK != (err == nil) {
		return nil, fmt.Errorf("nothing was verified in %s\n%s", recordings, stderr.String())
	}
	return told.Results, nil
}

func (v *verdict) text() string {
	if v.Error != nil {
		return v.Error.Message
	}
	d := v.Divergence
	if d == nil {
		return "it diverged"
	}
	text := d.Message + " (" + d.Kind + ")"
	if d.Seq != nil {
		text = fmt.Sprintf("event %d  %s  %s", *d.Seq, d.Pointer, text)
	}
	if d.Expected != nil {
		text += "\n  expected  " + string(d.Expected)
	}
	if d.Actual != nil {
		text += "\n  actual    " + string(d.Actual)
	}
	return text
}
