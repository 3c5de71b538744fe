package eventfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ErrContainer is returned for a file that is not an Avro object container, or is corrupt beyond a
// single record.
var ErrContainer = errors.New("not a whole Avro container file")

const maxContainerBlock = 256 << 20 // bytes of one block, compressed or not

// Container reads the records of an Avro object container file. If a record is malformed, Container
// cannot find the next record, and returns the rest of the block as one broken record. A Container
// must not be used concurrently.
type Container struct {
	file  *ocf.Reader
	limit int
	block []byte // rest of the current block
	count int64  // number of records returned
}

// NewContainer reads the head of a container. Next truncates records to limit bytes; a limit below
// 1 stands for 1 MiB. The error is an ErrContainer, which may wrap an ErrEncoding, an ErrDamaged or
// a *FormatError.
func NewContainer(r io.Reader, limit int) (*Container, error) {
	if limit < 1 {
		limit = 1 << 20
	}
	c := &Container{limit: limit}
	container := event.EncodingOf(event.Avro)
	plain, head, err := unpacked(bufio.NewReaderSize(r, bufferBytes))
	if err == nil {
		err = mismatch(container, head)
	}
	if err == nil && !bytes.HasPrefix(head, []byte(container.Mark)) {
		err = errors.New("it does not begin with the mark of one")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContainer, err)
	}
	zstd, err := ocf.ZstdCodec(nil, nil)
	if err != nil {
		return nil, err
	}
	options := []ocf.ReaderOpt{ocf.WithCodec(blockCodec{null{}, c}), ocf.WithMaxBlockBytes(maxContainerBlock),
		ocf.WithMaxDecompressedBlockBytes(maxContainerBlock)}
	for _, codec := range []ocf.Codec{ocf.DeflateCodec(0), ocf.SnappyCodec(), zstd} {
		options = append(options, ocf.WithCodec(blockCodec{codec, c}))
	}
	if c.file, err = ocf.NewReader(plain, options...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContainer, err)
	}
	return c, nil
}

// Schema returns the writer's schema of the records.
func (c *Container) Schema() string { return c.file.Schema().String() }

// errBlock stops the library once the Container has the bytes of a block. The Container decodes the
// block itself, because the library would neither return the bytes of a record nor skip a broken
// one.
var errBlock = errors.New("a block for the container")

// blockCodec unpacks blocks and passes their bytes to a Container.
type blockCodec struct {
	ocf.Codec
	container *Container
}

// DecompressBounded implements ocf.BoundedDecompressor. The error is never nil.
func (b blockCodec) DecompressBounded(packed []byte, most int64) (_ []byte, err error) {
	if unpack, ok := b.Codec.(ocf.BoundedDecompressor); ok {
		packed, err = unpack.DecompressBounded(packed, most)
	}
	if err != nil {
		return nil, err
	}
	b.container.block = packed
	return nil, errBlock
}

// null is the codec of blocks that are not compressed.
type null struct{ ocf.Codec }

func (null) Name() string { return "null" }
func (null) Close() error { return nil }

// Next returns the next record. It returns io.EOF after the last record, and ErrContainer if the
// file is corrupt beyond a single record. Record.Line is the record's number. The bytes belong to
// the caller.
func (c *Container) Next() (Record, error) {
	for len(c.block) == 0 {
		if err := c.file.Decode(new(any)); errors.Is(err, io.EOF) {
			return Record{}, io.EOF
		} else if !errors.Is(err, errBlock) {
			return Record{}, fmt.Errorf("%w: %w", ErrContainer, err)
		}
	}
	c.count++
	var none struct{}
	rest, err := c.file.Schema().Decode(c.block, &none, avro.SkipUnknown())
	n := len(c.block) - len(rest)
	if err != nil || n == 0 {
		n = len(c.block)
	}
	value := c.block[:n]
	c.block = c.block[n:]
	return Record{Line: c.count, Value: bytes.Clone(value[:min(n, c.limit)]), Cut: n > c.limit}, nil
}
