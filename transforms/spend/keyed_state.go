package spend

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms/internal/keyedstate"
)

// KeyedState is a shard's keyed state in the engine that runs SPEND: a base and the
// deltas since, with a short description of both. Load reads once; Save writes
// once, after Load if at all.
type KeyedState interface {
	Load() (meta, base []byte, deltas [][]byte, err error)
	// Save replaces meta. A nil base keeps the old base and appends delta; a
	// base that is not nil replaces it and drops the deltas before, and then
	// delta is the first. A span's deltas are saved as one.
	Save(meta, base, delta []byte) error
}

// meta describes a shard's keyed state: accounts as of base, charged, and the
// deltas of base+1 to last, those of the last span not charged yet. It belongs
// to one epoch; of another epoch the ledger alone is the truth.
type meta struct {
	epoch      int64
	base, last uint64
}

// metaVersion 1 had one delta in an element of the bag, without a frame.
const metaVersion = 2

var errMeta = errors.New("malformed description of a shard's state")

func (m meta) encode() []byte {
	return keyedstate.AppendMeta(nil, metaVersion, uint64(m.epoch)<<1^uint64(m.epoch>>63), m.base, m.last)
}

func decodeMeta(b []byte) (meta, error) {
	var m meta
	var epoch uint64
	if !keyedstate.ReadMeta(b, metaVersion, &epoch, &m.base, &m.last) || m.last < m.base {
		return meta{}, errMeta
	}
	m.epoch = int64(epoch>>1) ^ -int64(epoch&1)
	return m, nil
}

const (
	smallBase = 64 << 10
	maxDeltas = 256
)

// dueBase reports whether the next span writes a new base: the accounts as of the turn
// before it, charged, encoded before admission. A base is never older than the ledger
// has slots: the settlements that its deltas are charged by are not kept for ever.
func dueBase(s *keyedstate.State, slots uint64) bool {
	return s.Last-s.Base >= min(maxDeltas, slots) || s.Due(0, smallBase)
}

func saveSpan(s *keyedstate.State, c KeyedState, open *schemas.Open, base, deltas []byte) error {
	err := s.Save(c, base, open.First-1, deltas, open.Turn, func(s keyedstate.State) []byte {
		return meta{epoch: open.Epoch, base: s.Base, last: s.Last}.encode()
	})
	if err != nil {
		return fmt.Errorf("keeping turn %d in the state: %w", open.Turn, err)
	}
	return nil
}

// encodeDelta encodes a delta for the keyed state as one blob, in the ledger's format.
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

// encodeBase encodes the state as of a charged turn: the accounts and the slices of open windows.
func (a *shardAccounts) encodeBase() ([]byte, error) {
	accounts, err := a.store.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	base := keyedstate.AppendBlob(nil, accounts)
	for _, s := range a.open {
		base = keyedstate.AppendBlob(base, s.data)
	}
	return base, nil
}

var errBase = errors.New("malformed accounts or deltas of the state")

// splitBlobs splits what is never empty: a base, or the deltas of a span.
func splitBlobs(b []byte) ([][]byte, error) {
	blobs, ok := keyedstate.SplitBlobs(b)
	if !ok || len(blobs) == 0 {
		return nil, errBase
	}
	return blobs, nil
}

func (a *shardAccounts) decodeBase(base []byte) error {
	blobs, err := splitBlobs(base)
	if err != nil {
		return err
	}
	accounts, err := state.DecodeShard(blobs[0])
	if err != nil {
		return fmt.Errorf("decoding the accounts of the state: %w", err)
	}
	a.store = accounts
	return a.reopen(blobs[1:])
}

// reopen takes over encoded slices of open windows.
func (a *shardAccounts) reopen(slices [][]byte) error {
	a.open = nil
	for _, data := range slices {
		turn, err := schemas.PeekOpenSlice(data)
		if err != nil {
			return fmt.Errorf("reading a slice of an open window: %w", err)
		}
		a.open = append(a.open, openSlice{turn, data})
	}
	return nil
}
