package eventfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Entry is a record with the time by which it is sorted.
type Entry struct {
	Millis int64  // Unix milliseconds
	Value  []byte // original bytes, at most the splitter's limit
	Length int64  // of the whole record if Value is truncated, else 0
	Digest []byte // SHA-256 of the whole record if Value is truncated, else nil
}

// size returns how much memory an entry takes while it waits to be sorted, in bytes.
func (e Entry) size() int { return len(e.Value) + len(e.Digest) + entryOverhead }

const (
	entryOverhead = 96 // slice headers, time and index, rounded up
	maxEntryBytes = 1 << 30
)

// write appends the entry to a run: time, length of the whole record, digest
// and value, each length-prefixed.
func (e Entry) write(w *bufio.Writer, scratch []byte) ([]byte, error) {
	scratch = binary.AppendVarint(scratch[:0], e.Millis)
	scratch = binary.AppendUvarint(scratch, uint64(e.Length))
	scratch = binary.AppendUvarint(scratch, uint64(len(e.Digest)))
	scratch = append(scratch, e.Digest...)
	scratch = binary.AppendUvarint(scratch, uint64(len(e.Value)))
	if _, err := w.Write(scratch); err != nil {
		return scratch, err
	}
	_, err := w.Write(e.Value)
	return scratch, err
}

var errRun = errors.New("damaged sort run")

// readEntry reads what write wrote. It returns io.EOF only after a whole entry.
func readEntry(r *bufio.Reader) (Entry, error) {
	var e Entry
	var err error
	if e.Millis, err = binary.ReadVarint(r); err != nil {
		return Entry{}, err
	}
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return Entry{}, torn(err)
	}
	e.Length = int64(length)
	if e.Digest, err = readBytes(r, 64); err != nil {
		return Entry{}, err
	}
	if e.Value, err = readBytes(r, maxEntryBytes); err != nil {
		return Entry{}, err
	}
	return e, nil
}

func readBytes(r *bufio.Reader, limit uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, torn(err)
	}
	if n > limit {
		return nil, fmt.Errorf("%w: a field of %d bytes", errRun, n)
	}
	if n == 0 {
		return nil, nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, torn(err)
	}
	return b, nil
}

func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends in the middle of an entry", errRun)
	}
	return err
}
