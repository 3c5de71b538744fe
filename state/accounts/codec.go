package accounts

import (
	"encoding/binary"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
)

// The encoding in ledger snapshots.
//
// An accounts block consists of the kind byte 'A', a version byte, the number of accounts as a
// uvarint, and each account, in strictly ascending order of (id, period):
//
//	lead    1 byte: bits 0–3 gap form, bits 4–6 length of Spent, bit 7 extended
//	ext     1 byte, if extended: bit 0 debts follow, bit 1 Spent has 8 bytes
//	        (the length in lead is then 0), bit 2 the period differs from the previous
//	id      gap form 0–8: that many bytes of (high half − previous high half), then the
//	        low half in 8 bytes; gap form 15: no bytes, the id of the previous account
//	period  zigzag uvarint of (period − previous period), if that differs
//	Spent   big-endian without leading zeros
//	debts   if any: their number and each debt as a uvarint, the last
//	        one not 0
//
// The first account is encoded relative to id 0 and period 0. Every value has exactly one form and
// the decoder rejects all others, so equal accounts have equal bytes, which the digests in the
// ledger require. With hashed ids, each of 10^6 users with a lifetime budget takes about 20 bytes,
// and 6 more for each metric with a debt.
const (
	accountsKind  = 'A'
	accountsV2    = 2
	gapSameID     = 15
	leadExtended  = 1 << 7
	extDebts      = 1 << 0
	extLongSpent  = 1 << 1
	extPeriod     = 1 << 2
	extReserved   = 0xff &^ (extDebts | extLongSpent | extPeriod)
	maxSpentShort = 7
	maxHalf       = 8

	// minAccountBytes is the length of the shortest account: the id of the previous account,
	// another period, and one byte for Spent.
	minAccountBytes = 4
)

// Encode appends an accounts block, which is a part of a ledger snapshot, to dst, which may be nil.
// The entries must be in strictly ascending order of (ID, Period), and no account may be zero or
// have a reservation (ErrReserved). If there is an error, dst is returned unchanged.
func Encode(dst []byte, entries []Entry) ([]byte, error) {
	out := append(dst, accountsKind, accountsV2)
	out = binary.AppendUvarint(out, uint64(len(entries)))
	var enc accountEncoder
	for i := range entries {
		e := &entries[i]
		if i > 0 && entries[i-1].compare(e.ID, e.Period) >= 0 {
			return dst, fmt.Errorf("encoding accounts: entry %d does not come after entry %d in the order of id and "+
				"period", i, i-1)
		}
		var err error
		if out, err = enc.append(out, e); err != nil {
			return dst, fmt.Errorf("encoding accounts: entry %d: %w", i, err)
		}
	}
	return out, nil
}

// Decode decodes the accounts block at the start of b and returns the bytes after it as rest. The
// error is a *DecodeError. Decode never allocates more than a small multiple of len(b). The entries
// do not alias b, but rest does.
func Decode(b []byte) (entries []Entry, rest []byte, err error) {
	dec, err := newAccountDecoder(b)
	if err != nil {
		return nil, nil, err
	}
	entries = make([]Entry, 0, dec.left)
	for dec.left > 0 {
		e, err := dec.next()
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	return entries, dec.b, nil
}

// accountEncoder encodes each account relative to the previous one.
type accountEncoder struct {
	high, low uint64
	period    int64
	started   bool
}

func (enc *accountEncoder) append(dst []byte, e *Entry) ([]byte, error) {
	a := &e.Account
	switch {
	case a.Reserved != 0:
		return dst, ErrReserved
	case a.IsZero():
		return dst, fmt.Errorf("a zero account is not stored")
	}
	high, low := binary.BigEndian.Uint64(e.ID[:8]), binary.BigEndian.Uint64(e.ID[8:])
	sameID := enc.started && high == enc.high && low == enc.low
	gap, spent := int128.Uint{Lo: high - enc.high}, int128.Uint{Lo: uint64(a.Spent)}
	lead := byte(gapSameID)
	if !sameID {
		lead = byte(gap.ByteLen())
	}
	ext := byte(0)
	if n := len(e.Debts); n > 0 {
		if e.Debts[n-1] == 0 {
			return dst, fmt.Errorf("its last debt is 0")
		}
		ext |= extDebts
	}
	if n := spent.ByteLen(); n > maxSpentShort {
		ext |= extLongSpent
	} else {
		lead |= byte(n) << 4
	}
	if e.Period != enc.period {
		ext |= extPeriod
	}
	if ext != 0 {
		dst = append(dst, lead|leadExtended, ext)
	} else {
		dst = append(dst, lead)
	}
	if !sameID {
		dst = gap.AppendMinimal(dst)
		dst = binary.BigEndian.AppendUint64(dst, low)
	}
	if e.Period != enc.period {
		dst = binary.AppendVarint(dst, e.Period-enc.period) // wraps modulo 2^64, like the decoder's sum
	}
	dst = spent.AppendMinimal(dst)
	if len(e.Debts) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(e.Debts)))
		for _, debt := range e.Debts {
			dst = binary.AppendUvarint(dst, uint64(debt))
		}
	}
	enc.high, enc.low, enc.period, enc.started = high, low, e.Period, true
	return dst, nil
}
