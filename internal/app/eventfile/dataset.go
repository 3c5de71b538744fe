package eventfile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Options configure Open and Scan.
type Options struct {
	event.Format // how its text, rows and times are written; other fields do not matter
	// Header: the first record of a file of rows names the columns.
	Header bool
	// Fields lists names that must be columns of a file of rows.
	Fields []string
	// Limit is the number of bytes kept of one record; 0 means 1 MiB.
	Limit int
	// Memory is the number of bytes sorted in memory; 0 means 64 MiB.
	Memory int
	// TempDir holds the sorted runs; "" is the system's choice.
	TempDir string
}

// Clock returns the event time of a record in Unix milliseconds; false for a broken record, which
// has no event time, and LeftOut and false for one that is not kept.
type Clock func(r Record) (millis int64, ok bool)

// LeftOut is what a Clock returns for a record that Each is not to hand out.
const LeftOut = math.MinInt64

// Head describes a file's records, as far as the file does.
type Head struct {
	Empty   bool     // there is not even a header
	Columns []string // from the header or the options; of rows only
	Schema  string   // with which the records of a container were written
	Unit    string   // unit of Record.Line: "line" or "record"
}

// OptionsOf returns how a file with records of a format is read.
func OptionsOf(f event.Format, header bool) Options {
	o := Options{Format: f, Header: header, Fields: f.Fields()}
	if f.MaxRecordBytes > 0 {
		o.Limit = f.MaxRecordBytes + 1 // so that a decoder sees that a record is longer
	}
	return o
}

// Complete returns a format completed by the file's head.
func (h Head) Complete(f event.Format) event.Format {
	f.Columns, f.Schema = h.Columns, h.Schema
	return f
}

// Dataset is a file, sorted. Close it to free the disk.
type Dataset struct {
	Head
	Records int64 // without the header
	Timed   int64 // records that have an event time
	// First and Last are the least and the largest event time in Unix
	// milliseconds; they mean nothing while Timed is 0.
	First, Last int64
	// FirstLine and LastLine are the positions of their records: see Record.Line.
	FirstLine, LastLine int64
	sorter              *Sorter
}

// Open reads the file at path once and sorts it by event time. clock is called when the head is
// known and returns the Clock for it. A record without a time takes the time of the last record
// before it that has one; those at the beginning of the file take First.
//
// The errors name the path and a remedy, and contain no data.
func Open(path string, opt Options, clock func(Head) (Clock, error)) (*Dataset, error) {
	d := &Dataset{First: math.MaxInt64, Last: math.MinInt64, sorter: NewSorter(opt.TempDir, opt.Memory)}
	err := Scan(path, opt, func(h Head) (func(Record) error, error) {
		d.Head = h
		timeOf, err := clock(h)
		last := int64(math.MinInt64)
		return func(r Record) error { return d.add(r, timeOf, &last) }, err
	})
	if err != nil {
		d.Close() //nolint:errcheck // the first error counts
		return nil, err
	}
	return d, nil
}

// Scan reads the file at path once, in its own order. begin is called when the head is known, and
// returns the function for each record, which may keep a record's bytes. Errors as Open's; an error
// of begin or of its function ends the reading.
func Scan(path string, opt Options, begin func(Head) (func(Record) error, error)) (err error) {
	file, err := OpenFile(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading input file %s: %w", Name(path), err)
		}
	}()
	from, head, err := open(file, opt)
	if err != nil {
		return err
	}
	each, err := begin(head)
	if err != nil {
		return err
	}
	for {
		record, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(record); err != nil {
			return err
		}
	}
}

// recordReader hands out the records of a file, then io.EOF.
type recordReader interface{ Next() (Record, error) }

// open reads the head.
func open(file io.Reader, opt Options) (recordReader, Head, error) {
	if opt.Encoding().Contained() {
		c, err := NewContainer(file, opt.Limit)
		if err != nil {
			return nil, Head{}, err
		}
		return c, Head{Schema: c.schema, Unit: "record"}, nil
	}
	split := NewSplitter(file, opt.Format, opt.Limit)
	if err := split.Begin(); err != nil {
		return nil, Head{}, err
	}
	head, err := readHead(split, opt)
	head.Unit = split.Unit()
	return split, head, err
}

// readHead finds the column names.
func readHead(split *Splitter, opt Options) (h Head, err error) {
	if !opt.Encoding().Tabular() {
		return h, nil
	}
	h.Columns = opt.Columns
	if opt.Header {
		first, err := split.Next()
		if errors.Is(err, io.EOF) {
			// An empty file has no columns, and no records that need them.
			h.Columns, h.Empty = opt.Fields, true
			return h, nil
		}
		if err != nil {
			return h, err
		}
		if h.Columns, err = ParseHeader(opt.Format, first.Value); err != nil {
			return h, err
		}
		return h, CheckHeader(h.Columns, opt.TimeLayout, opt.Fields...)
	}
	return h, CheckColumns(h.Columns, opt.Fields...)
}

// add adds a record; last is the time of the last one before it that has one.
func (d *Dataset) add(record Record, timeOf Clock, last *int64) error {
	d.Records++
	millis, ok := timeOf(record)
	if !ok && millis == LeftOut {
		return nil
	}
	if ok && !record.Cut {
		d.Timed++
		if millis < d.First {
			d.First, d.FirstLine = millis, record.Line
		}
		if millis > d.Last {
			d.Last, d.LastLine = millis, record.Line
		}
		*last = millis
	}
	return d.sorter.Add(Entry{Millis: *last, Value: record.Value})
}

// Each calls fn with every record in order of time. An entry's Millis is never below First, except
// in a file without any event time, if it is 0.
func (d *Dataset) Each(fn func(Entry) error) error {
	sorted, err := d.sorter.Sorted()
	if err != nil {
		return err
	}
	for {
		e, ok, err := sorted.Next()
		if err != nil || !ok {
			return err
		}
		if e.Millis == math.MinInt64 {
			e.Millis = 0
			if d.Timed > 0 {
				e.Millis = d.First
			}
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// Close frees memory and disk.
func (d *Dataset) Close() error { return d.sorter.Close() }
