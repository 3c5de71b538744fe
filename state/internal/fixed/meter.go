package fixed

// Sum is an amount of privacy loss whose sums are exact, or refused if they overflow.
type Sum[S any] interface {
	Add(S) (S, bool)
	Cmp(S) int
}

// Fits reports whether the amount more may be spent: whether taken, reserved and more add up to at
// most the limit. Every account and every filter that adds losses decides by it. A reservation
// counts in full, even if it is likely to settle for less: if the taken amount alone decided, two
// open reservations could overspend.
func Fits[S Sum[S]](limit, taken, reserved, more S) bool {
	sum, ok := taken.Add(reserved)
	if !ok {
		return false
	}
	sum, ok = sum.Add(more)
	return ok && sum.Cmp(limit) <= 0
}

// Settles reports whether a reservation of worst may end with actual spent: whether worst is
// reserved and actual is at most worst.
func Settles[S Sum[S]](reserved, worst, actual S) bool {
	return actual.Cmp(worst) <= 0 && worst.Cmp(reserved) <= 0
}

// Meter tracks the taken and reserved amounts of a limit. The zero value has a limit of 0. Not safe
// for concurrent use.
type Meter struct{ limit, taken, reserved Amount }

// NewMeter returns an unused Meter. It lowers a limit of Max by one unit.
func NewMeter(limit Amount) Meter { return Meter{limit: below(limit.units)} }

// ResumeMeter returns a Meter with the given amounts taken and reserved, or false if they exceed
// the limit or the limit is Max.
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

// Reserved returns the amount reserved until Settle.
func (m *Meter) Reserved() Amount { return m.reserved }

// Left returns the amount that is neither taken nor reserved.
func (m *Meter) Left() Amount { return m.limit.Sub(m.taken).Sub(m.reserved) }

// Act is the use made of an amount that fits.
type Act int

const (
	Ask     Act = iota // only check whether it fits
	Spend              // take it
	Reserve            // set it aside until Settle
)

// Admit reports whether a fits, and if so performs act.
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

// Settle ends a reservation of worst: it takes actual and releases the rest. It returns false, and
// changes nothing, if actual > worst or if less than worst is reserved.
func (m *Meter) Settle(worst, actual Amount) bool {
	if !Settles(m.reserved, worst, actual) {
		return false
	}
	m.reserved = m.reserved.Sub(worst)
	m.taken = m.taken.Plus(actual)
	return true
}
