package eventfile

import (
	"bytes"
	"errors"
	"io"

	"github.com/tollgate-dp/tollgate/internal/base/formats/csvrow"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Record is one record of a file.
type Record struct {
	Value []byte // original bytes without the last line terminator, truncated to the limit
	Line  int64  // number of the first line or of the record, from 1; Splitter.Unit returns which
	Cut   bool   // whether Value is truncated
}

// Splitter finds the records of a file. It must not be used concurrently.
//
// A malformed or unclosed quote breaks only its physical line, not the rest of the file, because
// the lines after it are read again as separate records. Empty lines are not records.
type Splitter struct {
	lines   *lineReader
	quoted  bool
	limit   int
	pending []line // lines after a broken quote, which are read again
}

// NewSplitter returns a Splitter of the records in r. It truncates records to limit bytes; a limit
// below 1 stands for 1 MiB. A record that spans several lines and exceeds the limit is treated as
// an unclosed quote.
func NewSplitter(r io.Reader, f event.Format, limit int) *Splitter {
	if limit < 1 {
		limit = 1 << 20
	}
	lines := newLineReader(r, f, limit)
	return &Splitter{lines: lines, quoted: lines.format.Quoted, limit: limit}
}

// Begin checks the first bytes of the file, like the first call of Next, but reads no record. The
// error is an ErrEncoding, an ErrDamaged or a *FormatError.
func (s *Splitter) Begin() error { return s.lines.prepare() }

// Unit returns the unit of Record.Line, which is "line" or "record". Call Begin or Next before.
func (s *Splitter) Unit() string {
	if s.lines.spread {
		return "record"
	}
	return "line"
}

// Next returns the next record, or io.EOF after the last one. The bytes belong to the caller.
func (s *Splitter) Next() (Record, error) {
	if err := s.lines.prepare(); err != nil {
		return Record{}, err
	}
	if s.lines.spread {
		return s.lines.object()
	}
	first, err := s.line()
	for err == nil && len(first.text) == 0 {
		first, err = s.line()
	}
	if err != nil {
		return Record{}, err
	}
	if !s.quoted || first.cut || bytes.IndexByte(first.text, '"') < 0 {
		return lineRecord(first), nil
	}
	return s.join(first)
}

// join adds lines to a record until its quoted field is closed.
func (s *Splitter) join(first line) (Record, error) {
	end := csvrow.Scan(first.text, s.lines.format.Separator, false)
	if end != csvrow.Open {
		return lineRecord(first), nil
	}
	var after []line
	value := append([]byte(nil), first.text...)
	lineEnd := first.end
	for end == csvrow.Open {
		next, err := s.line()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Record{}, err
		}
		after = append(after, next)
		if next.cut || len(value)+len(lineEnd)+len(next.text) > s.limit {
			break
		}
		value = append(append(value, lineEnd...), next.text...)
		lineEnd = next.end
		end = csvrow.Scan(next.text, s.lines.format.Separator, true)
	}
	if end != csvrow.End {
		s.pending = append(after, s.pending...)
		return lineRecord(first), nil
	}
	return Record{Value: value, Line: first.number}, nil
}

func (s *Splitter) line() (line, error) {
	if len(s.pending) > 0 {
		next := s.pending[0]
		s.pending = s.pending[1:]
		return next, nil
	}
	return s.lines.next()
}

func lineRecord(l line) Record { return Record{Value: l.text, Line: l.number, Cut: l.cut} }
