package eventfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// line is one physical line.
type line struct {
	text   []byte // without its terminator, cut off after the limit
	end    []byte // the terminator: "\n", "\r\n" or nothing at the end of the file
	number int64  // 1-based
	cut    bool   // whether the text goes on
}

// kept is the beginning of a text, up to a limit.
type kept struct {
	limit int
	text  []byte
	cut   bool // whether the text goes on
}

func (k *kept) add(b []byte) {
	n := min(k.limit-len(k.text), len(b))
	k.text, k.cut = append(k.text, b[:n]...), k.cut || n < len(b)
}

func (k *kept) addByte(c byte) {
	if k.cut = k.cut || len(k.text) == k.limit; !k.cut {
		k.text = append(k.text, c)
	}
}

// lineReader reads physical lines of any length with bounded memory.
type lineReader struct {
	r       *bufio.Reader
	format  event.Encoding
	charset string // "": UTF-8, or found by the first bytes
	limit   int    // bytes kept of one line
	number  int64
	peeled  bool // whether peel was called
	spread  bool // the records do not have a line each: object reads them
	arrays  int  // JSON arrays that are open around the next record
}

// bufferBytes is how much of a file is read at once.
const bufferBytes = 1 << 16

var (
	// ErrEncoding is returned for a file whose compression or lines cannot be read; its text has
	// the conversion.
	ErrEncoding = errors.New("unsupported encoding")
	// ErrDamaged is returned for a compressed file or a JSON array that ends early or was changed.
	ErrDamaged = errors.New("the file is not whole")
)

func newLineReader(r io.Reader, f event.Format, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, bufferBytes), format: f.Encoding(), charset: f.Charset, limit: limit}
}

// next returns the next line, or io.EOF. The bytes belong to the caller.
func (l *lineReader) next() (line, error) {
	if err := l.peel(); err != nil {
		return line{}, err
	}
	var (
		out       line
		text      = kept{limit: l.limit}
		pendingCR bool // a '\r' ended a full buffer, and may belong to the terminator
		any       bool
	)
	for {
		part, err := l.r.ReadSlice('\n')
		if len(part) > 0 {
			any = true
		}
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
			out.end = []byte("\n")
		}
		if pendingCR && (len(part) > 0 || errors.Is(err, io.EOF)) {
			text.addByte('\r')
			pendingCR = false
		}
		if n := len(part); n > 0 && part[n-1] == '\r' && (ended || errors.Is(err, bufio.ErrBufferFull)) {
			part, pendingCR = part[:n-1], true
		}
		text.add(part)
		switch {
		case ended && pendingCR:
			out.end = []byte("\r\n")
			fallthrough
		case ended:
			return l.finish(out, &text), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if !any {
				return line{}, io.EOF
			}
			return l.finish(out, &text), nil
		default:
			return line{}, err
		}
	}
}

func (l *lineReader) finish(out line, text *kept) line {
	l.number++
	out.number, out.text, out.cut = l.number, text.text, text.cut
	// A last line may end in a single '\r': encoding/csv reads it as a terminator.
	if n := len(out.text); len(out.end) == 0 && n > 0 && out.text[n-1] == '\r' && !out.cut {
		out.text, out.end = out.text[:n-1], []byte("\r")
	}
	return out
}

// peel, once, unpacks the file, makes its text UTF-8, drops a byte order mark and refuses data that
// is certainly not text, or not of the file's format, which would otherwise become a file of broken
// records.
func (l *lineReader) peel() error {
	if l.peeled {
		return nil
	}
	l.peeled = true
	r, head, err := unpacked(l.r)
	if err != nil {
		return err
	}
	if r, head, err = decoded(r, head, l.charset); err != nil {
		return err
	}
	l.r = r
	if err := mismatch(l.format, head); err != nil {
		return err
	}
	l.spread = spread(l.format, head)
	if !bytes.HasPrefix(head, mark) {
		return nil
	}
	_, err = l.r.Discard(len(mark))
	return err
}
