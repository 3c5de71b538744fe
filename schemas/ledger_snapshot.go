package schemas

import (
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Snapshot holds a shard's accounts, charged up to and including Turn, and its open slices.
type Snapshot struct {
	Turn      uint64
	Epoch     int64            // not part of the body, like Delta.Epoch
	Accounts  []accounts.Entry // strictly ascending by (ID, Period); without reservations; none is zero
	Forgotten []ForgottenMark  // users whose events no later turn counts; strictly ascending
	Open      [][]byte         // encoded OpenSlices, strictly ascending by turn
}

// EncodeSnapshot encodes a snapshot for slot 0 or 1. The key and value of each record together take
// at most maxBytes, not counting Kafka's framing. Errors: ErrInvalid, ErrTooLarge (maxBytes below
// 108), and the errors of accounts.Encode.
func EncodeSnapshot(s Snapshot, slot, maxBytes int) ([]LedgerRecord, error) {
	if slot != 0 && slot != 1 {
		return nil, invalid(KindSnapshotBody, "slot is not 0 or 1")
	}
	w := newWriter(make([]byte, 0, 32*len(s.Accounts)+64), KindSnapshotBody)
	s.layout(w)
	body, err := w.written()
	if err != nil {
		return nil, fmt.Errorf("encoding snapshot of turn %d: %w", s.Turn, err)
	}
	return splitBody(KindSnapshotPart, uint64(slot), s.Turn, s.Epoch, body, maxBytes)
}

// JoinSnapshot decodes a snapshot from its parts, in ascending order. Errors: ErrIncomplete,
// ErrMalformed, ErrVersion, and the errors of accounts.Decode.
func JoinSnapshot(parts ...LedgerPart) (Snapshot, error) {
	s, set, err := joinRecord(KindSnapshotPart, KindSnapshotBody, parts, (*Snapshot).layout, func(s *Snapshot) uint64 {
		return s.Turn
	})
	s.Epoch = set.Epoch
	return s, err
}

func (s *Snapshot) layout(w *wire) {
	w.uint(&s.Turn, "turn")
	s.layoutAccounts(w)
	list(w, &s.Forgotten, len(ForgottenMark{}), "forgotten users", func(m *ForgottenMark, w *wire) {
		w.fixed(m[:], "forgotten user")
	})
	ascend(w, s.Forgotten, "forgotten users", func(a, b *ForgottenMark) int { return a.Compare(*b) })
	list(w, &s.Open, 1, "open slices", func(slice *[]byte, w *wire) { w.bytes(slice, math.MaxInt, "open slice") })
	var previousTurn uint64
	for i, o := range s.Open {
		turn, err := PeekOpenSlice(o)
		if errors.Is(err, ErrVersion) {
			w.note(err)
		}
		w.check(err == nil, "an open slice that cannot be decoded")
		w.check(i == 0 || previousTurn < turn, "open slices out of order")
		previousTurn = turn
	}
}

func (s *Snapshot) layoutAccounts(w *wire) {
	switch {
	case w.err != nil:
	case w.reading:
		var err error
		if s.Accounts, w.rest, err = accounts.Decode(w.rest); err != nil {
			w.note(accountsError(err))
		}
	default:
		out, err := accounts.Encode(w.out, s.Accounts)
		w.out = out
		w.note(err)
	}
}

// accountsError converts an error of accounts.Decode to ErrVersion or ErrMalformed.
func accountsError(err error) error {
	var decodeErr *accounts.DecodeError
	if errors.As(err, &decodeErr) && decodeErr.Version != 0 {
		return &MalformedError{Kind: KindAccounts, What: decodeErr.Reason, cause: ErrVersion}
	}
	return fmt.Errorf("%w: %w", malformed(KindSnapshotBody, "accounts"), err)
}
