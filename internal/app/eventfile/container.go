package eventfile

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ErrContainer is returned for a file that is not an Avro object container, or is corrupt beyond a
// single record.
var ErrContainer = errors.New("not a whole Avro container file")

const (
	maxContainerBlock  = 256 << 20 // bytes of one block, compressed or not
	maxContainerHeader = 8 << 20   // bytes of one value of the header
	syncBytes          = 16
)

// Container reads the records of an Avro object container file. If a record is malformed, Container
// cannot find the next one and returns the rest of the block as one broken record. Not for
// concurrent use.
type Container struct {
	r      *bufio.Reader
	limit  int
	schema string
	codec  string
	sync   [syncBytes]byte
	typ    *avro.Type
	record avro.Reader

	block []byte // rest of the current block
	left  int64  // number of records that it should have
	count int64  // number of records returned
}

// NewContainer reads the head of a container. Next will keep at most limit bytes of a record; limit
// < 1 means 1 MiB. The error is an ErrContainer, which may wrap an ErrEncoding, an ErrDamaged or a
// *FormatError.
func NewContainer(r io.Reader, limit int) (*Container, error) {
	if limit < 1 {
		limit = 1 << 20
	}
	c := &Container{limit: limit, codec: "null"}
	container := event.EncodingOf(event.Avro)
	var head []byte
	var err error
	if c.r, head, err = unpacked(bufio.NewReaderSize(r, bufferBytes)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContainer, err)
	}
	if err := mismatch(container, head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContainer, err)
	}
	var magic [4]byte
	if _, err := io.ReadFull(c.r, magic[:]); err != nil || string(magic[:]) != container.Mark {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrContainer)
	}
	if err := c.header(); err != nil {
		return nil, err
	}
	if c.typ, err = avro.Parse(c.schema); err != nil {
		return nil, fmt.Errorf("%w: reading Avro schema: %w", ErrContainer, err)
	}
	switch c.codec {
	case "null", "deflate", "snappy", "zstandard":
		return c, nil
	}
	return nil, fmt.Errorf("%w: it is packed with %q: write it with null, deflate, snappy or zstandard", ErrContainer,
		c.codec)
}

// Schema returns the schema that the records were written with.
func (c *Container) Schema() string { return c.schema }

// header reads the metadata after the magic bytes.
func (c *Container) header() error {
	for {
		n, err := binary.ReadVarint(c.r)
		if err == nil && n < 0 {
			n = -n
			_, err = binary.ReadVarint(c.r) // the size of the entries
		}
		switch {
		case err != nil:
			return early(err)
		case n == 0:
			_, err = io.ReadFull(c.r, c.sync[:])
			return early(err)
		case n < 0 || n > 1<<16:
			return fmt.Errorf("%w: its header has %d entries", ErrContainer, n)
		}
		for range n {
			key, err := c.bytes(maxContainerHeader)
			if err != nil {
				return err
			}
			value, err := c.bytes(maxContainerHeader)
			if err != nil {
				return err
			}
			switch string(key) {
			case "avro.schema":
				c.schema = string(value)
			case "avro.codec":
				c.codec = string(value)
			}
		}
	}
}

// early turns io.EOF into an error for a truncated file.
func early(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", ErrContainer)
	}
	return fmt.Errorf("%w: %w", ErrContainer, err)
}

// bytes reads a length and that many bytes. It allocates memory only as the bytes arrive.
func (c *Container) bytes(most int64) ([]byte, error) {
	n, err := binary.ReadVarint(c.r)
	if err != nil {
		return nil, early(err)
	}
	if n < 0 || n > most {
		return nil, fmt.Errorf("%w: a text or a block claims %d bytes", ErrContainer, n)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, c.r, n); err != nil {
		return nil, early(err)
	}
	return b.Bytes(), nil
}

// Next returns the next record, io.EOF after the last one, or ErrContainer if the file is corrupt
// beyond a single record. Record.Line is the record's number. The bytes belong to the caller.
func (c *Container) Next() (Record, error) {
	for c.left == 0 && len(c.block) == 0 {
		if _, err := c.r.Peek(1); err != nil {
			return Record{}, err
		}
		if err := c.next(); err != nil {
			return Record{}, err
		}
	}
	c.count++
	c.record.Open(c.block)
	ok := c.record.Skip(c.typ, 0)
	n := c.record.At
	if c.left == 0 || !ok || n == 0 {
		// The record is broken, or the block has more or fewer records than it claims.
		n, c.left = len(c.block), 1
	}
	c.left--
	value := c.block[:n]
	c.block = c.block[n:]
	return Record{Line: c.count, Value: bytes.Clone(value[:min(n, c.limit)]), Cut: n > c.limit}, nil
}

// next reads the next block.
func (c *Container) next() (err error) {
	if c.left, err = binary.ReadVarint(c.r); err != nil {
		return early(err)
	}
	if c.left < 0 {
		return fmt.Errorf("%w: a block claims %d records", ErrContainer, c.left)
	}
	packed, err := c.bytes(maxContainerBlock)
	if err != nil {
		return err
	}
	var end [syncBytes]byte
	if _, err := io.ReadFull(c.r, end[:]); err != nil {
		return early(err)
	}
	if end != c.sync {
		return fmt.Errorf("%w: a block does not end with the file's mark", ErrContainer)
	}
	if c.block, err = c.unpack(packed); err != nil {
		return fmt.Errorf("%w: unpacking a block: %w", ErrContainer, err)
	}
	return nil
}

var errBlockTooLong = fmt.Errorf("it has more than %d MiB", maxContainerBlock>>20)

func (c *Container) unpack(b []byte) ([]byte, error) {
	switch c.codec {
	case "deflate":
		out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxContainerBlock+1))
		if err == nil && len(out) > maxContainerBlock {
			err = errBlockTooLong
		}
		return out, err
	case "snappy":
		if len(b) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		b, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
		if n, err := snappy.DecodedLen(b); err != nil || n > maxContainerBlock {
			return nil, cmp.Or(err, errBlockTooLong)
		}
		out, err := snappy.Decode(nil, b)
		if err == nil && crc32.ChecksumIEEE(out) != sum {
			err = errors.New("its checksum is wrong")
		}
		return out, err
	case "zstandard":
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxContainerBlock))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return r.DecodeAll(b, nil)
	}
	return b, nil
}
