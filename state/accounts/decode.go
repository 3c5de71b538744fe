package accounts

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tollgate-dp/tollgate/state/units"
)

// accountDecoder decodes an accounts block; b holds the bytes that are not yet decoded.
type accountDecoder struct {
	b         []byte
	left      int // number of accounts that are not yet decoded
	total     int
	high, low uint64
	period    int64
}

func newAccountDecoder(b []byte) (*accountDecoder, error) {
	if len(b) < 2 || b[0] != accountsKind {
		return nil, &DecodeError{What: "accounts", Reason: "it does not begin with the kind byte A"}
	}
	if b[1] != accountsV2 {
		return nil, unknownVersion(b[1])
	}
	d := &accountDecoder{b: b[2:]}
	count, ok := d.uvarint()
	if !ok {
		return nil, &DecodeError{What: "accounts", Reason: "the number of accounts is truncated or not minimal"}
	}
	if count > uint64(len(d.b)/minAccountBytes) {
		return nil, &DecodeError{What: "accounts",
			Reason: fmt.Sprintf("%d accounts do not fit in %d bytes", count, len(d.b))}
	}
	d.left, d.total = int(count), int(count)
	return d, nil
}

func (d *accountDecoder) fail(reason string) error {
	return &DecodeError{What: "accounts", Reason: fmt.Sprintf("account %d of %d: %s", d.total-d.left, d.total, reason)}
}

func (d *accountDecoder) next() (Entry, error) {
	var e Entry
	if len(d.b) == 0 {
		return e, d.fail("truncated before its first byte")
	}
	lead, ext := d.b[0], byte(0)
	d.b = d.b[1:]
	if lead&leadExtended != 0 {
		if len(d.b) == 0 {
			return e, d.fail("truncated before its second byte")
		}
		ext = d.b[0]
		d.b = d.b[1:]
		if ext == 0 || ext&extReserved != 0 {
			return e, d.fail("its second byte is empty or uses a reserved bit")
		}
	}
	if err := d.key(&e, lead&15, ext&extPeriod != 0); err != nil {
		return e, err
	}
	if err := d.amounts(&e, int(lead>>4&7), ext); err != nil {
		return e, err
	}
	d.left--
	return e, nil
}

// key decodes an id and a period, and checks that they follow the previous account's.
func (d *accountDecoder) key(e *Entry, gapForm byte, periodDiffers bool) error {
	first, sameID := d.left == d.total, gapForm == gapSameID
	switch {
	case sameID && first:
		return d.fail("the first account has no id")
	case !sameID && gapForm > maxHalf:
		return d.fail("its id has an unknown form")
	case !sameID:
		gap, ok := d.minimal(int(gapForm))
		if !ok || len(d.b) < maxHalf {
			return d.fail("its id is truncated or not minimal")
		}
		low := binary.BigEndian.Uint64(d.b)
		d.b = d.b[maxHalf:]
		if gap == 0 && !first && low <= d.low {
			return d.fail("its id does not come after the previous one")
		}
		if d.high+gap < d.high {
			return d.fail("its id is out of range")
		}
		d.high, d.low = d.high+gap, low
	}
	if periodDiffers {
		difference, ok := d.uvarint()
		if !ok || difference == 0 {
			return d.fail("its period is truncated or not minimal")
		}
		period := d.period + protowire.DecodeZigZag(difference)
		if sameID && period <= d.period {
			return d.fail("its period does not come after the previous one")
		}
		d.period = period
	} else if sameID {
		return d.fail("it repeats the previous id and period")
	}
	binary.BigEndian.PutUint64(e.ID[:8], d.high)
	binary.BigEndian.PutUint64(e.ID[8:], d.low)
	e.Period = d.period
	return nil
}

func (d *accountDecoder) amounts(e *Entry, spentLen int, ext byte) error {
	if ext&extLongSpent != 0 {
		if spentLen != 0 {
			return d.fail("it has two lengths for the spent amount")
		}
		spentLen = maxHalf
	}
	spent, ok := d.minimal(spentLen)
	if !ok {
		return d.fail("the spent amount is truncated or not minimal")
	}
	if e.Account.Spent = units.Mu2(spent); e.Account.IsZero() {
		return d.fail("it is zero")
	}
	if ext&extDebts == 0 {
		return nil
	}
	n, ok := d.uvarint()
	if !ok || n == 0 || n > uint64(len(d.b)) {
		return d.fail("the number of its debts is truncated or not minimal, or they do not fit")
	}
	e.Debts = make([]units.Mu2, n)
	for i := range e.Debts {
		debt, ok := d.uvarint()
		if !ok {
			return d.fail("a debt is truncated or not minimal")
		}
		e.Debts[i] = units.Mu2(debt)
	}
	if e.Debts[n-1] == 0 {
		return d.fail("its last debt is 0")
	}
	return nil
}

// minimal reads n ≤ 8 big-endian bytes without a leading zero.
func (d *accountDecoder) minimal(n int) (uint64, bool) {
	if len(d.b) < n || n > 0 && d.b[0] == 0 {
		return 0, false
	}
	var v uint64
	for _, c := range d.b[:n] {
		v = v<<8 | uint64(c)
	}
	d.b = d.b[n:]
	return v, true
}

// uvarint reads a uvarint that must be in its shortest form.
func (d *accountDecoder) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || n > 1 && d.b[n-1] == 0 {
		return 0, false
	}
	d.b = d.b[n:]
	return v, true
}
