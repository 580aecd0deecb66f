//go:build unix

package playhead

import (
	"io"
	"os"
	"syscall"
)

// takeStdio takes the real stdin and stdout, as descriptors that no child inherits. What is printed goes to stderr from
// now on, by whatever way, and what reads stdin finds its end.
func takeStdio() (io.Reader, io.Writer, error) {
	in, err := duplicate(0)
	if err != nil {
		return nil, nil, err
	}
	out, err := duplicate(1)
	if err != nil {
		return nil, nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := replace(int(null.Fd()), 0); err != nil {
		return nil, nil, err
	}
	if err := replace(2, 1); err != nil { // Started without a stderr.
		if err := replace(int(null.Fd()), 1); err != nil {
			return nil, nil, err
		}
	}
	_ = null.Close()
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(in), "stdin"), os.NewFile(uintptr(out), "stdout"), nil
}

func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	made, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(made)
	}
	return made, err
}
