package playheadtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const golden = "../../../protocol/vectors/tape/recordings/incident-4211.golden.json"

// example builds one of the examples; the daemon is the one of this project where the caller did not name another.
func example(t *testing.T, name string) (recordings, command string) {
	t.Helper()
	if os.Getenv("PLAYHEAD") == "" {
		if _, err := exec.LookPath("playhead"); err != nil {
			own, _ := filepath.Abs("../../../.venv/bin/playhead")
			if _, err := os.Stat(own); err != nil {
				t.Skip("there is no playhead on PATH, and PLAYHEAD names none")
			}
			t.Setenv("PLAYHEAD", own)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Skip("the recordings of the protocol are not beside this folder")
	}
	recordings, command = t.TempDir(), filepath.Join(t.TempDir(), name)
	for _, one := range []string{"a.json", "b.json"} {
		if err := os.WriteFile(filepath.Join(recordings, one), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-o", command, "../examples/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return recordings, command
}

func TestAHandlerThatIsTheSameVerifies(t *testing.T) {
	recordings, command := example(t, "charge")
	Verify(t, recordings, command)
}

func TestADivergenceSaysWhereItIs(t *testing.T) {
	recordings, command := example(t, "charge_drifted")
	found, err := verify(recordings, []string{command})
	if err != nil || len(found) != 2 || found[0].OK {
		t.Fatal(found, err)
	}
	for _, part := range []string{"event 1", "/approved", "expected  true", "actual    false"} {
		if text := found[0].text(); !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

func TestWhatCannotBeVerifiedIsAnError(t *testing.T) {
	recordings, command := example(t, "charge")
	found, err := verify(filepath.Join(recordings, "none"), []string{command})
	if err != nil || found[0].OK || !strings.Contains(found[0].text(), "No such file") {
		t.Error(found, err)
	}
	if _, err := verify(recordings, []string{filepath.Join(recordings, "none")}); err == nil {
		t.Error("a handler that cannot be started")
	}
	t.Setenv("PLAYHEAD", filepath.Join(recordings, "none"))
	if _, err := verify(recordings, []string{command}); err == nil || !strings.Contains(err.Error(), "pip install") {
		t.Error(err)
	}
}
