package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Snapshot is a shard's accounts, charged up to and including Turn, and its slices of the windows
// that are still open.
type Snapshot struct {
	Turn     uint64
	Epoch    int64            // not part of the body, like a delta's
	Accounts []accounts.Entry // strictly ascending by (ID, Period), without reservations, none zero
	Open     [][]byte         // encoded OpenSlices, strictly ascending by turn
}

// EncodeSnapshot encodes a snapshot for slot 0 or 1 into records whose key and value together are
// at most maxBytes long (Kafka's own framing is not included). Errors: ErrInvalid, ErrTooLarge
// (maxBytes below 108), and those of accounts.Encode.
func EncodeSnapshot(s Snapshot, slot, maxBytes int) ([]LedgerRecord, error) {
	if slot != 0 && slot != 1 {
		return nil, invalid(KindSnapshotBody, "slot is not 0 or 1")
	}
	if what := checkOpen(s.Open); what != "" {
		return nil, invalid(KindSnapshotBody, what)
	}
	body := appendPreamble(make([]byte, 0, 32*len(s.Accounts)+64), KindSnapshotBody)
	body = binary.AppendUvarint(body, s.Turn)
	body, err := accounts.Encode(body, s.Accounts)
	if err != nil {
		return nil, fmt.Errorf("encoding snapshot of turn %d: %w", s.Turn, err)
	}
	body = binary.AppendUvarint(body, uint64(len(s.Open)))
	for _, o := range s.Open {
		body = appendBytes(body, o)
	}
	return splitBody(KindSnapshotPart, uint64(slot), s.Turn, s.Epoch, body, maxBytes)
}

// JoinSnapshot puts a snapshot together from its parts in ascending order. Errors: ErrIncomplete,
// ErrMalformed, ErrVersion, and those of accounts.Decode.
func JoinSnapshot(parts ...LedgerPart) (Snapshot, error) {
	body, set, err := joinBody(KindSnapshotPart, parts)
	if err != nil {
		return Snapshot{}, err
	}
	s, err := decodeSnapshotBody(body)
	if err != nil {
		return Snapshot{}, fmt.Errorf("joining ledger snapshot of turn %d: %w", set.Turn, err)
	}
	if s.Turn != set.Turn {
		return Snapshot{}, malformed(KindSnapshotPart, "its turn is not that of the snapshot")
	}
	s.Epoch = set.Epoch
	return s, nil
}

func decodeSnapshotBody(b []byte) (Snapshot, error) {
	d := newWireDecoder(b, KindSnapshotBody)
	s := Snapshot{Turn: d.uvarint("turn")}
	if d.err != nil {
		return Snapshot{}, d.err
	}
	var err error
	s.Accounts, d.rest, err = accounts.Decode(d.rest)
	if err != nil {
		return Snapshot{}, accountsError(err)
	}
	n := d.count("open slices", 1)
	s.Open = make([][]byte, 0, n)
	for i := 0; i < n && d.err == nil; i++ {
		s.Open = append(s.Open, d.take(d.count("open slice", 1), "open slice"))
	}
	if err := d.finish(); err != nil {
		return Snapshot{}, err
	}
	for _, o := range s.Open {
		if _, err := PeekOpenSlice(o); errors.Is(err, ErrVersion) {
			return Snapshot{}, err
		}
	}
	if what := checkOpen(s.Open); what != "" {
		return Snapshot{}, malformed(KindSnapshotBody, what)
	}
	return s, nil
}

// accountsError returns the error of a snapshot whose accounts are of another version, or damaged.
func accountsError(err error) error {
	var other *accounts.DecodeError
	if errors.As(err, &other) && other.Version != 0 {
		return &MalformedError{Kind: KindAccounts, What: other.Reason, cause: ErrVersion, Version: other.Version, Known: other.Known}
	}
	return fmt.Errorf("%w: %w", malformed(KindSnapshotBody, "accounts"), err)
}

// checkOpen returns what is wrong with encoded open slices, or "": other records among them, or
// slices out of order. Their contents are decoded when a window needs them.
func checkOpen(open [][]byte) string {
	var before uint64
	for i, o := range open {
		turn, err := PeekOpenSlice(o)
		if err != nil {
			return "a slice that is not an open slice's encoding"
		}
		if i > 0 && before >= turn {
			return "open slices out of order"
		}
		before = turn
	}
	return ""
}
