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
	text   []byte // without the terminator, truncated to the limit
	end    []byte // terminator: "\n" or "\r\n"; at the end of the file, "\r" or nothing
	number int64  // 1-based
	cut    bool   // whether text is truncated
}

// kept is a text that is truncated to limit bytes.
type kept struct {
	limit int
	text  []byte
	cut   bool // whether bytes were dropped
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
	charset string // "" for UTF-8, or for UTF-16 if the file begins with its byte order mark
	limit   int    // maximum number of bytes of a line; the others are dropped
	number  int64
	peeled  bool // whether peel was called
	spread  bool // whether records are in an array or span several lines; object then reads them
	arrays  int  // number of open JSON arrays around the next record
}

// bufferBytes is the size of the read buffer.
const bufferBytes = 1 << 16

var (
	// ErrEncoding is returned for an unsupported compression or charset. The error text names a
	// command that converts the file.
	ErrEncoding = errors.New("unsupported encoding")
	// ErrDamaged is returned for a corrupt compressed file, or a JSON array that ends early.
	ErrDamaged = errors.New("the file is not complete")
)

func newLineReader(r io.Reader, f event.Format, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, bufferBytes), format: f.Encoding(), charset: f.Charset, limit: limit}
}

// next returns the next line, or io.EOF. The bytes belong to the caller.
func (l *lineReader) next() (line, error) {
	if err := l.prepare(); err != nil {
		return line{}, err
	}
	joined, err := kept{limit: l.limit + len("\r\n")}, bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		joined.add(part)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(joined.text) == 0) {
		return line{}, err
	}
	l.number++
	// A last line may end in a single '\r': encoding/csv reads it as a terminator.
	text := bytes.TrimSuffix(bytes.TrimSuffix(joined.text, []byte("\n")), []byte("\r"))
	n := min(len(text), l.limit)
	return line{text: text[:n:n], end: joined.text[len(text):], number: l.number, cut: n < len(text)}, nil
}

// peel prepares the file at its first call: it decompresses the file, converts the text to UTF-8
// and drops a byte order mark. It refuses data that is certainly not text, or certainly not in the
// given format, so that not every record counts as broken.
func (l *lineReader) prepare() error {
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
