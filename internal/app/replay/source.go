package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// A source returns the records of a file, then io.EOF.
type source interface {
	Next() (eventfile.Record, error)
}

// openSource determines the columns or the schema, and creates the decoder.
func (r *Replay) openSource() error {
	format := r.options.Format
	if event.EncodingOf(format.Format).Contained() {
		return r.openContainer()
	}
	split := eventfile.NewSplitter(r.read, format, demo.MaxRecordBytes)
	r.source = split
	if err := split.Begin(); err != nil {
		return err
	}
	r.result.Unit = split.Unit()
	if r.options.Header {
		first, err := split.Next()
		if errors.Is(err, io.EOF) {
			return eventfile.NoRecords(false)
		}
		if err != nil {
			return err
		}
		names, err := eventfile.ParseHeader(format, first.Value)
		if err != nil {
			return err
		}
		if len(format.Columns) > 0 && !slices.Equal(names, format.Columns) {
			return fmt.Errorf("its header does not have the configured columns in their order (%d in the file, %d "+
				"configured)", len(names), len(format.Columns))
		}
		if err := eventfile.CheckHeader(names, format.TimeLayout, format.Fields()...); err != nil {
			return err
		}
		format.Columns = names
	}
	return r.decodeBy(format)
}

func (r *Replay) decodeBy(format event.Format) (err error) {
	if r.options.SkipNoUser {
		format.NoUser = event.NoUserEach // otherwise, a record without a user is broken
	}
	r.faults.Begin(eventfile.Head{Columns: format.Columns, Schema: format.Schema, Unit: r.result.Unit})
	r.decoder, err = event.NewDecoder(format)
	return err
}

var errHeader = errors.New("its first line has the names of the columns, so nothing was written: repeat with --header")

// isHeader reports whether the first record is a header although Options.Header is not set.
func (r *Replay) isHeader(first []byte) bool {
	format := r.options.Format
	if r.options.Header || !event.EncodingOf(format.Format).Tabular() {
		return false
	}
	names, err := eventfile.ParseHeader(format, first)
	return err == nil && slices.Equal(names, format.Columns)
}

// openContainer reads the head of a container file. It refuses a schema that the readers of the
// topic would not expect.
func (r *Replay) openContainer() error {
	file, err := eventfile.NewContainer(r.read, demo.MaxRecordBytes)
	if err != nil {
		return err
	}
	r.source, r.schema, r.result.Unit = file, file.Schema(), "record"
	r.scratch = make([]byte, 0, schemas.RegistryBytes)
	format := r.options.Format
	if r.options.Registry == nil {
		if err := checkSchema(r.schema, format.Schema); err != nil {
			return err
		}
	} else {
		format.Schema = r.schema
	}
	return r.decodeBy(format)
}

// checkSchema refuses bare records that were not written with the topic's schema. The two schemas
// may differ in documentation, defaults and aliases.
func checkSchema(file, topic string) error {
	same, err := event.SameSchema(file, topic)
	if err != nil {
		return fmt.Errorf("comparing its schema with that of the topic: %w", err)
	}
	if !same {
		return errors.New("the file was written with another schema than the topic's (events.schema): convert it, or " +
			"read the topic with a schema registry (events.registry)")
	}
	return nil
}

// register obtains the id of the schema, the prefix of every record.
func (r *Replay) register(ctx context.Context) error {
	if r.options.Registry == nil {
		return nil
	}
	id, err := r.options.Registry.Register(ctx, r.options.Topic+"-value", r.schema)
	if err != nil {
		return err
	}
	r.prefix = schemas.AppendRegistry(nil, id)
	if r.options.OnSchema != nil {
		r.options.OnSchema(id)
	}
	return nil
}

// framed returns a record of a container in the form of the topic, valid until the next call. It is
// never nil, which would be a tombstone.
func (r *Replay) framed(value []byte) []byte {
	if r.schema == "" {
		return value
	}
	r.scratch = append(append(r.scratch[:0], r.prefix...), value...)
	return r.scratch
}

// countingReader counts the bytes read.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	read, err := c.r.Read(b)
	c.n.Add(int64(read))
	return read, err
}
