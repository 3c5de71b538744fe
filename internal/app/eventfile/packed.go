package eventfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// packing is a way in which a whole file is compressed.
type packing struct {
	name   string
	ending string
	mark   string // the first bytes
	open   func(io.Reader) (io.Reader, error)
}

// foreign are packings that cannot be read, by bytes near the beginning of a file.
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

// maxWindow bounds the memory of unpacking: the default of zstd --long.
const maxWindow = 128 << 20

// packings is the table.
var packings = [...]packing{
	{"gzip", ".gz", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", ".zst", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}},
}

// EncodingOfFile returns the entry of the format of which a file is by its name, whether or not the
// file is compressed.
func EncodingOfFile(name string) event.Encoding {
	ending := filepath.Ext(name)
	if slices.ContainsFunc(packings[:], func(p packing) bool { return strings.EqualFold(p.ending, ending) }) {
		name = strings.TrimSuffix(name, ending)
	}
	return event.EncodingOfFile(name)
}

// unpacked returns a reader of the contents of a file, which its first bytes show to be compressed
// or not, and the beginning of these contents.
func unpacked(r *bufio.Reader) (*bufio.Reader, []byte, error) {
	head := headOf(r)
	for _, p := range packings {
		if !bytes.HasPrefix(head, []byte(p.mark)) {
			continue
		}
		from, err := p.open(r)
		if err != nil {
			return nil, nil, damaged(p.name, 0, err)
		}
		r = bufio.NewReaderSize(&unpacking{r: from, name: p.name}, bufferBytes)
		return r, headOf(r), nil
	}
	return r, head, nil
}

// unpacking adds the compression and the position to errors.
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
	what := "are damaged"
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		what = "end early"
	}
	return fmt.Errorf("%w: the %s data %s after %s unpacked bytes (%w): copy the file again from where it is whole",
		ErrDamaged, name, what, terminal.Number(float64(after), 0), err)
}
