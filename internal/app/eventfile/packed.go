package eventfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// foreign lists unsupported archives and compressions. Each is recognized by the bytes at an offset
// near the beginning of a file.
var foreign = [...]struct {
	offset      int
	mark, found string
}{
	{0, "PK\x03\x04", "a .zip archive; unpack it first, for example with unzip -p"},
	{0, "\xfd7zXZ\x00", "xz data; unpack it first, for example with xz -dc"},
	{0, "BZh91AY&SY", "bzip2 data; unpack it first, for example with bzip2 -dc"},
	{0, "\x78\x01", zlibData}, {0, "\x78\x9c", zlibData},
	{0, "\x1f\x8b", "gzip data in gzip data; unpack it first, for example with gzip -dc"},
	{257, "ustar", "a .tar archive; unpack it first, for example with tar -xOf"},
}

const zlibData = "zlib data; unpack it first, for example with pigz -dcz"

// maxWindow limits the memory for decompression; it is the default of zstd --long.
const maxWindow = 128 << 20

// packings lists the supported compressions of a whole file.
var packings = [...]struct {
	name, ending, mark string // mark: the first bytes
	open               func(io.Reader) (io.Reader, error)
}{
	{"gzip", ".gz", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", ".zst", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}},
}

// EncodingOfFile returns the format that a file's name suggests. It ignores the ending of a
// compression, such as .gz.
func EncodingOfFile(name string) event.Encoding {
	ending := filepath.Ext(name)
	for _, p := range packings {
		if strings.EqualFold(p.ending, ending) {
			return event.EncodingOfFile(strings.TrimSuffix(name, ending))
		}
	}
	return event.EncodingOfFile(name)
}

// unpacked returns a reader of the decompressed file, and the first decompressed bytes. It
// recognizes the compression by the first bytes of r.
func unpacked(r *bufio.Reader) (*bufio.Reader, []byte, error) {
	head := headOf(r)
	for _, p := range packings {
		if !bytes.HasPrefix(head, []byte(p.mark)) {
			continue
		}
		opened, err := p.open(r)
		if err != nil {
			return nil, nil, damaged(p.name, 0, err)
		}
		r = bufio.NewReaderSize(&unpacking{r: opened, name: p.name}, bufferBytes)
		return r, headOf(r), nil
	}
	return r, head, nil
}

// unpacking is a reader of decompressed data that adds the compression and the position to errors.
type unpacking struct {
	r    io.Reader
	name string
	read int64
}

func (u *unpacking) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	u.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(u.name, u.read, err)
	}
	return n, err
}

func damaged(name string, after int64, err error) error {
	fault := "are damaged"
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		fault = "end early"
	}
	return fmt.Errorf("%w: the %s data %s after %s unpacked bytes (%w): copy the complete file again",
		ErrDamaged, name, fault, terminal.Number(float64(after), 0), err)
}
