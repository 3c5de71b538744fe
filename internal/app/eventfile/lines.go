package eventfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// line is one physical line.
type line struct {
	text   []byte // without its terminator, cut off after the limit
	end    []byte // the terminator: "\n", "\r\n" or nothing at the end of the file
	number int64  // 1-based
	length int64  // of the whole text, beyond the limit too
	digest []byte // SHA-256 of the whole text, only if it was cut off
}

// lineReader reads physical lines of any length with bounded memory.
type lineReader struct {
	r      *bufio.Reader
	format event.Encoding
	limit  int // bytes kept of one line
	number int64
	peeled bool // whether peel was called
}

// ErrEncoding is returned for a file that is compressed or in UTF-16: it names
// what was found and how to convert the file.
var ErrEncoding = errors.New("unsupported encoding")

func newLineReader(r io.Reader, format event.Encoding, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 1<<16), format: format, limit: limit}
}

// next returns the next line, or io.EOF. The bytes belong to the caller.
func (l *lineReader) next() (line, error) {
	if err := l.peel(); err != nil {
		return line{}, err
	}
	var (
		out       line
		whole     hash.Hash // of the text; made when the limit is passed
		pendingCR bool      // a '\r' ended a full buffer, and may belong to the terminator
		any       bool
	)
	keep := func(b []byte) {
		out.length += int64(len(b))
		if whole == nil && len(out.text)+len(b) > l.limit {
			whole = sha256.New()
			whole.Write(out.text)
		}
		if whole != nil {
			whole.Write(b)
		}
		room := min(l.limit-len(out.text), len(b))
		out.text = append(out.text, b[:room]...)
	}
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
			keep([]byte{'\r'})
			pendingCR = false
		}
		if n := len(part); n > 0 && part[n-1] == '\r' && (ended || errors.Is(err, bufio.ErrBufferFull)) {
			part, pendingCR = part[:n-1], true
		}
		keep(part)
		switch {
		case ended && pendingCR:
			out.end = []byte("\r\n")
			fallthrough
		case ended:
			return l.finish(out, whole), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if !any {
				return line{}, io.EOF
			}
			return l.finish(out, whole), nil
		default:
			return line{}, err
		}
	}
}

func (l *lineReader) finish(out line, whole hash.Hash) line {
	l.number++
	out.number = l.number
	if whole != nil {
		out.digest = whole.Sum(nil)
	}
	// A last line may end in a single '\r': encoding/csv reads it as a terminator.
	if n := len(out.text); len(out.end) == 0 && n > 0 && out.text[n-1] == '\r' && whole == nil {
		out.text, out.end, out.length = out.text[:n-1], []byte("\r"), out.length-1
	}
	return out
}

// peel, once, drops a UTF-8 byte order mark and refuses what is certainly not text in
// UTF-8, or not of the file's format, which would otherwise become a file of broken records.
func (l *lineReader) peel() error {
	if l.peeled {
		return nil
	}
	l.peeled = true
	head := headOf(l.r)
	if err := mismatch(l.format, head); err != nil {
		return err
	}
	if !bytes.HasPrefix(head, mark) {
		return nil
	}
	_, err := l.r.Discard(len(mark))
	return err
}

// encoded refuses a file that is not text, by its first bytes.
func encoded(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return fmt.Errorf("%w: UTF-16 text; convert it first, for example with iconv -f utf-16 -t utf-8", ErrEncoding)
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		return fmt.Errorf("%w: gzip data; unpack it first with gunzip", ErrEncoding)
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		return fmt.Errorf("%w: zstd data; unpack it first with unzstd", ErrEncoding)
	}
	return nil
}
