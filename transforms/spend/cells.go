package spend

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// Cells is a shard's keyed state in the engine that runs SPEND: a base and the
// deltas since, with a short description of both. Load reads once; Save writes
// once, after Load if at all.
type Cells interface {
	Load() (meta, base []byte, deltas [][]byte, err error)
	// Save replaces meta. A nil base keeps the old base and appends delta; a
	// base that is not nil replaces it and drops the deltas before, and then
	// delta is the first. A joint's deltas are saved as one.
	Save(meta, base, delta []byte) error
}

// meta describes a shard's keyed state: accounts as of base, charged, and the
// deltas of base+1 to last, those of the last joint not charged yet. It belongs
// to one epoch; of another epoch the ledger alone is the truth.
type meta struct {
	epoch      int64
	base, last uint64
}

// metaVersion 1 had one delta in an element of the bag, without a frame.
const metaVersion = 2

var errMeta = errors.New("malformed description of a shard's state")

func (m meta) encode() []byte {
	b := []byte{metaVersion}
	b = binary.AppendVarint(b, m.epoch)
	b = binary.AppendUvarint(b, m.base)
	return binary.AppendUvarint(b, m.last)
}

func decodeMeta(b []byte) (meta, error) {
	if len(b) == 0 || b[0] != metaVersion {
		return meta{}, errMeta
	}
	b = b[1:]
	var m meta
	var n int
	if m.epoch, n = binary.Varint(b); n <= 0 {
		return meta{}, errMeta
	}
	b = b[n:]
	if m.base, n = binary.Uvarint(b); n <= 0 {
		return meta{}, errMeta
	}
	b = b[n:]
	if m.last, n = binary.Uvarint(b); n <= 0 || n != len(b) || m.last < m.base {
		return meta{}, errMeta
	}
	return m, nil
}

// saver decides when the base is written anew: once the deltas since weigh
// more than it, so that a turn costs what its active users cost.
type saver struct {
	base      uint64
	baseSize  int
	deltaSize int
	deltas    int
	saved     bool
}

const (
	smallBase = 64 << 10
	maxDeltas = 256
)

// due says whether the next joint writes a new base: the accounts as of the
// turn before it, charged, encoded before admission. A base is never older than
// the ledger has slots: whoever reads it needs every settlement since, and those
// are not kept for ever.
func (s *saver) due(slots uint64) bool {
	return !s.saved || uint64(s.deltas) >= min(maxDeltas, slots) || s.deltaSize > max(s.baseSize, smallBase)
}

func (s *saver) write(c Cells, epoch int64, first, turn uint64, base, deltas []byte) error {
	if base != nil {
		*s = saver{base: first - 1, baseSize: len(base), saved: true}
	}
	s.deltas += int(turn - first + 1)
	s.deltaSize += len(deltas)
	m := meta{epoch: epoch, base: s.base, last: turn}
	if err := c.Save(m.encode(), base, deltas); err != nil {
		return fmt.Errorf("keeping turn %d in the state: %w", turn, err)
	}
	return nil
}

// encodeDelta makes one blob of a delta for the keyed state, in the ledger's
// own format.
func encodeDelta(d *schemas.Delta) ([]byte, error) {
	records, err := schemas.EncodeDelta(*d, 1, 1<<30)
	if err != nil {
		return nil, fmt.Errorf("encoding a delta for the state: %w", err)
	}
	if len(records) != 1 {
		return nil, fmt.Errorf("encoding a delta for the state: it does not fit one record")
	}
	return records[0].Value, nil
}

func decodeDelta(b []byte) (*schemas.Delta, error) {
	key := schemas.LedgerKey{Kind: schemas.KindDeltaPart}
	part, err := schemas.DecodeLedgerPart(key.Bytes(), b)
	if err != nil {
		return nil, fmt.Errorf("decoding a delta of the state: %w", err)
	}
	d, err := schemas.JoinDelta(part)
	if err != nil {
		return nil, fmt.Errorf("decoding a delta of the state: %w", err)
	}
	return &d, nil
}

// encodeBase encodes what a book knows as of a charged turn: its accounts and
// the slices of open windows.
func (b *book) encodeBase() ([]byte, error) {
	accounts, err := b.accounts.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	base := appendBlob(nil, accounts)
	for _, s := range b.open {
		base = appendBlob(base, s.data)
	}
	return base, nil
}

func appendBlob(dst, blob []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(blob)))
	return append(dst, blob...)
}

var errBase = errors.New("malformed accounts or deltas of the state")

// splitBlobs is the inverse of appendBlob, again and again.
func splitBlobs(b []byte) ([][]byte, error) {
	var blobs [][]byte
	for len(b) > 0 {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return nil, errBase
		}
		blobs = append(blobs, b[used:used+int(n)])
		b = b[used+int(n):]
	}
	if len(blobs) == 0 {
		return nil, errBase
	}
	return blobs, nil
}

func (b *book) decodeBase(base []byte) error {
	blobs, err := splitBlobs(base)
	if err != nil {
		return err
	}
	accounts, err := state.DecodeShard(blobs[0])
	if err != nil {
		return fmt.Errorf("decoding the accounts of the state: %w", err)
	}
	b.accounts = accounts
	return b.reopen(blobs[1:])
}

// reopen takes over encoded slices of open windows.
func (b *book) reopen(slices [][]byte) error {
	b.open = nil
	for _, data := range slices {
		turn, err := schemas.PeekOpenSlice(data)
		if err != nil {
			return fmt.Errorf("reading a slice of an open window: %w", err)
		}
		b.open = append(b.open, openSlice{turn, data})
	}
	return nil
}
