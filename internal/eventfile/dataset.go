package eventfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Options say how a file is read.
type Options struct {
	Format Format
	// Header: the first record names the columns (CSV and TSV).
	Header bool
	// Columns has the names of the columns if there is no header.
	Columns []string
	// Fields lists names that must be columns of a CSV or TSV file.
	Fields []string
	// Limit is the number of bytes kept of one record; 0 means 1 MiB.
	Limit int
	// Memory is the number of bytes sorted in memory; 0 means 64 MiB.
	Memory int
	// TempDir holds the sorted runs; "" is the system's choice.
	TempDir string
	// Observe, if not nil, sees the bytes of each record once, in file order.
	Observe func(Record)
}

// Clock returns the event time of a record in Unix milliseconds; false for a broken record, which
// has no event time.
type Clock func(value []byte) (millis int64, ok bool)

// Head is what a file says of its records.
type Head struct {
	Empty   bool     // there is not even a header
	Columns []string // from the header or the options; CSV and TSV only
	Schema  string   // with which the records were written; Avro only
}

// Dataset is a file, sorted. Close it to free the disk.
type Dataset struct {
	Head
	Records int64 // without the header
	Timed   int64 // records that have an event time
	// First and Last are the least and the largest event time in Unix
	// milliseconds; they mean nothing while Timed is 0.
	First, Last int64
	// FirstLine and LastLine say which record has them: see Record.Line.
	FirstLine, LastLine int64
	times               sample
	sorter              *Sorter
}

// Open reads the file at path once and sorts it by event time. clock is called
// when the head is known and returns the Clock for it. A record without a
// time takes that of the last record before it that has one; those at the
// beginning of the file take First.
//
// The errors name the path and say what can be done; they have no data in them.
func Open(path string, opt Options, clock func(Head) (Clock, error)) (_ *Dataset, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening input file: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("opening input file: %s is a directory: name one file", path)
	}
	d := &Dataset{First: math.MaxInt64, Last: math.MinInt64, sorter: NewSorter(opt.TempDir, opt.Memory)}
	defer func() {
		if err != nil {
			d.Close() //nolint:errcheck // the first error counts
			err = fmt.Errorf("reading input file %s: %w", path, err)
		}
	}()
	from, err := d.open(file, opt)
	if err != nil {
		return nil, err
	}
	at, err := clock(d.Head)
	if err != nil {
		return nil, err
	}
	return d, d.scan(from, opt, at)
}

// recordReader hands out the records of a file, then io.EOF.
type recordReader interface{ Next() (Record, error) }

// open reads the head.
func (d *Dataset) open(file io.Reader, opt Options) (recordReader, error) {
	if opt.Format == Avro {
		c, err := NewContainer(file, opt.Limit)
		if err != nil {
			return nil, err
		}
		d.Schema = c.schema
		return c, nil
	}
	split := NewSplitter(file, opt.Format, opt.Limit)
	return split, d.head(split, opt)
}

// head finds the column names.
func (d *Dataset) head(split *Splitter, opt Options) error {
	if !opt.Format.Tabular() {
		return nil
	}
	d.Columns = opt.Columns
	if opt.Header {
		first, err := split.Next()
		if errors.Is(err, io.EOF) {
			// An empty file has no columns, and no records that need them.
			d.Columns, d.Empty = opt.Fields, true
			return nil
		}
		if err != nil {
			return err
		}
		if d.Columns, err = ParseHeader(opt.Format, first.Value); err != nil {
			return err
		}
	}
	return CheckColumns(d.Columns, opt.Fields...)
}

func (d *Dataset) scan(from recordReader, opt Options, at Clock) error {
	last := int64(math.MinInt64)
	for {
		record, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if opt.Observe != nil {
			opt.Observe(record)
		}
		d.Records++
		if millis, ok := at(record.Value); ok && record.Digest == nil {
			d.Timed++
			if millis < d.First {
				d.First, d.FirstLine = millis, record.Line
			}
			if millis > d.Last {
				d.Last, d.LastLine = millis, record.Line
			}
			d.times.add(millis)
			last = millis
		}
		e := Entry{Millis: last, Value: record.Value}
		if record.Digest != nil {
			e.Length, e.Digest = record.Length, record.Digest
		}
		if err := d.sorter.Add(e); err != nil {
			return err
		}
	}
}

// Each calls fn with every record in order of time. An entry's Millis is never
// below First, except in a file without any event time, where it is 0.
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
