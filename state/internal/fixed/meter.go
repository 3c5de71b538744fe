package fixed

// Sum is a type for amounts of privacy loss. Add returns the exact sum, or false if it overflows.
type Sum[S any] interface {
	Add(S) (S, bool)
	Cmp(S) int
}

// Fits reports whether more may be spent: whether the sum of taken, reserved and more is at most
// limit. Every account and every filter that adds up losses uses it. A reservation counts in full,
// even if it is likely to settle for less, because otherwise two open reservations could overspend.
func Fits[S Sum[S]](limit, taken, reserved, more S) bool {
	sum, ok := taken.Add(reserved)
	if !ok {
		return false
	}
	sum, ok = sum.Add(more)
	return ok && sum.Cmp(limit) <= 0
}

// Settles reports whether a reservation of worst may be settled by spending actual: whether at
// least worst is reserved and actual is at most worst.
func Settles[S Sum[S]](reserved, worst, actual S) bool {
	return actual.Cmp(worst) <= 0 && worst.Cmp(reserved) <= 0
}

// Meter tracks the taken and reserved parts of a limit. The zero value has a limit of 0. A Meter is
// not safe for concurrent use.
type Meter struct{ limit, taken, reserved Amount }

// NewMeter returns an unused Meter. It lowers a limit of Max by one unit.
func NewMeter(limit Amount) Meter { return Meter{limit: below(limit.units)} }

// ResumeMeter returns a Meter with the given taken and reserved amounts. It returns false if their
// sum exceeds the limit, or if the limit is Max.
func ResumeMeter(limit, taken, reserved Amount) (Meter, bool) {
	if limit == Max || !Fits(limit, taken, reserved, Amount{}) {
		return Meter{}, false
	}
	return Meter{limit, taken, reserved}, true
}

// Limit returns the limit.
func (m *Meter) Limit() Amount { return m.limit }

// Taken returns the spent amount.
func (m *Meter) Taken() Amount { return m.taken }

// Reserved returns the reserved amount.
func (m *Meter) Reserved() Amount { return m.reserved }

// Left returns the amount that is neither taken nor reserved.
func (m *Meter) Left() Amount { return m.limit.Sub(m.taken).Sub(m.reserved) }

// Act is what Admit does with an amount that fits.
type Act int

const (
	Ask     Act = iota // only check whether the amount fits
	Spend              // take the amount
	Reserve            // reserve the amount until Settle
)

// Admit reports whether a fits. If a fits, Admit performs act.
func (m *Meter) Admit(act Act, a Amount) bool {
	if !Fits(m.limit, m.taken, m.reserved, a) {
		return false
	}
	switch act {
	case Spend:
		m.taken = m.taken.Plus(a)
	case Reserve:
		m.reserved = m.reserved.Plus(a)
	}
	return true
}

// Settle ends a reservation of worst: it takes actual and releases the rest. If actual > worst, or
// if less than worst is reserved, Settle returns false and changes nothing.
func (m *Meter) Settle(worst, actual Amount) bool {
	if !Settles(m.reserved, worst, actual) {
		return false
	}
	m.reserved = m.reserved.Sub(worst)
	m.taken = m.taken.Plus(actual)
	return true
}
