package eventfile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Options configures Open and Scan.
type Options struct {
	event.Format          // only Format, Separator, Charset, Columns and TimeLayout are used
	Header       bool     // whether the first row of a file names the columns
	Fields       []string // columns that a file with rows must have
	Limit        int      // maximum size of a record in bytes; 0 for 1 MiB
	Memory       int      // maximum number of bytes of records in memory; 0 for 64 MiB
}

// Clock returns the event time of a record in Unix milliseconds. It returns false for a broken
// record, which has no event time, and (LeftOut, false) for a record that Each must skip.
type Clock func(r Record) (millis int64, ok bool)

// LeftOut is the time of a record that Each skips.
const LeftOut = math.MinInt64

// Head holds what a file itself says about its records.
type Head struct {
	Empty   bool     // whether the file is empty, without even a header
	Columns []string // for rows: names from the header or the options
	Schema  string   // for a container: the schema of its records
	Unit    string   // unit of Record.Line: "line" or "record"
}

// OptionsOf returns the options for a file whose records have format f.
func OptionsOf(f event.Format, header bool) Options {
	o := Options{Format: f, Header: header, Fields: f.Fields()}
	if f.MaxRecordBytes > 0 {
		o.Limit = f.MaxRecordBytes + 1 // lets a decoder recognize a record that is too long
	}
	return o
}

// Complete returns f with the columns and the schema from the head of the file.
func (h Head) Complete(f event.Format) event.Format {
	f.Columns, f.Schema = h.Columns, h.Schema
	return f
}

// Dataset is a file sorted by event time. Close it to remove its temporary file.
type Dataset struct {
	Head
	Records int64 // number of records, not counting the header
	Timed   int64 // number of records that have an event time
	// First and Last are the earliest and the latest event time in Unix milliseconds. FirstLine and
	// LastLine are the positions of their records. All four are valid only if Timed is not 0.
	First, Last         int64
	FirstLine, LastLine int64
	sorter              *Sorter
}

// Open reads the file at path once and sorts it by event time. It calls clock once, with the head
// of the file, and reads the times of records with the Clock that clock returns. A record without a
// time gets the time of the nearest preceding record that has one, or First if there is none.
//
// Errors name the path and a remedy, and contain no data.
func Open(path string, opt Options, clock func(Head) (Clock, error)) (*Dataset, error) {
	d := &Dataset{First: math.MaxInt64, Last: math.MinInt64, sorter: NewSorter("", opt.Memory)}
	err := Scan(path, opt, func(h Head) (func(Record) error, error) {
		d.Head = h
		timeOf, err := clock(h)
		last := int64(math.MinInt64)
		return func(r Record) error { return d.add(r, timeOf, &last) }, err
	})
	if err != nil {
		d.Close() //nolint:errcheck // the caller needs the first error
		return nil, err
	}
	return d, nil
}

// Scan reads the file at path once, in file order. It calls begin with the head of the file, and
// then calls the returned function with each record. That function may keep the record's bytes. An
// error from begin or from that function ends the scan. Errors are as for Open.
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
	source, head, err := open(file, opt)
	if err != nil {
		return err
	}
	handle, err := begin(head)
	if err != nil {
		return err
	}
	for {
		record, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := handle(record); err != nil {
			return err
		}
	}
}

// recordReader returns the records of a file, then io.EOF.
type recordReader interface{ Next() (Record, error) }

// open reads the head of a file.
func open(file io.Reader, opt Options) (recordReader, Head, error) {
	if opt.Encoding().Contained() {
		c, err := NewContainer(file, opt.Limit)
		if err != nil {
			return nil, Head{}, err
		}
		return c, Head{Schema: c.Schema(), Unit: "record"}, nil
	}
	split := NewSplitter(file, opt.Format, opt.Limit)
	if err := split.Begin(); err != nil {
		return nil, Head{}, err
	}
	head, err := readHead(split, opt)
	head.Unit = split.Unit()
	return split, head, err
}

// readHead determines the column names.
func readHead(split *Splitter, opt Options) (h Head, err error) {
	if !opt.Encoding().Tabular() {
		return h, nil
	}
	h.Columns = opt.Columns
	if opt.Header {
		first, err := split.Next()
		if errors.Is(err, io.EOF) {
			// An empty file has no columns, but it has no records that need them either.
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

// add adds a record. *last is the time of the most recent record that has one; add updates it.
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

// Each calls fn with every record in time order. Entry.Millis is at least First, or 0 if no record
// has a time.
func (d *Dataset) Each(fn func(Entry) error) error {
	return d.sorter.Each(func(e Entry) error {
		if e.Millis == math.MinInt64 {
			e.Millis = 0
			if d.Timed > 0 {
				e.Millis = d.First
			}
		}
		return fn(e)
	})
}

// Close releases the memory and the disk space.
func (d *Dataset) Close() error { return d.sorter.Close() }
