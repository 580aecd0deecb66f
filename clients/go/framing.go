package playhead

import (
	"bytes"
	"fmt"
	"io"
)

// Framing: bytes into lines. Only 0x0A ends a frame, and a CR just before it is ignored.

const (
	maxFrameBytes = 64 << 20
	readBytes     = 64 << 10
)

type frameReader struct {
	in    io.Reader
	limit int
	kept  []byte // Read and not given out; what is before `from` has been.
	from  int
	seen  int // Up to here no LF was found.
}

func newFrameReader(in io.Reader) *frameReader {
	return &frameReader{in: in, limit: maxFrameBytes, kept: make([]byte, 0, readBytes)}
}

// next gives the next frame without its line end. It belongs to the caller. io.EOF is the end of input.
func (r *frameReader) next() ([]byte, error) {
	for {
		if at := bytes.IndexByte(r.kept[r.seen:], '\n'); at >= 0 {
			end := r.seen + at
			line := r.kept[r.from:end]
			r.from, r.seen = end+1, end+1
			if len(line) > 0 && line[len(line)-1] == '\r' {
				line = line[:len(line)-1]
			}
			if len(line) > r.limit {
				return nil, fmt.Errorf("a frame of %d bytes; the largest is %d", len(line), r.limit)
			}
			return bytes.Clone(line), nil
		}
		r.seen = len(r.kept)
		if len(r.kept)-r.from > r.limit+1 { // One more, for a CR.
			return nil, fmt.Errorf("a frame of more than %d bytes", r.limit)
		}
		r.makeRoom()
		n, err := r.in.Read(r.kept[len(r.kept):cap(r.kept)])
		r.kept = r.kept[:len(r.kept)+n]
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// ready says whether a whole frame lies here already.
func (r *frameReader) ready() bool {
	return bytes.IndexByte(r.kept[r.seen:], '\n') >= 0
}

func (r *frameReader) makeRoom() {
	if r.from > 0 {
		n := copy(r.kept, r.kept[r.from:])
		r.seen -= r.from
		r.kept, r.from = r.kept[:n], 0
	}
	if cap(r.kept)-len(r.kept) < readBytes/4 {
		grown := make([]byte, len(r.kept), 2*cap(r.kept))
		copy(grown, r.kept)
		r.kept = grown
	}
}
