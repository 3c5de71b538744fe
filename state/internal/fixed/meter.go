package fixed

// Meter keeps what is left of a limit and what is reserved of it. The zero value has a
// limit of 0. Not safe for concurrent use.
type Meter struct {
	limit, left, reserved Amount
}

// NewMeter returns a Meter of which nothing is taken. A limit of Max is lowered by
// one unit.
func NewMeter(limit Amount) Meter {
	limit = below(limit.units)
	return Meter{limit: limit, left: limit}
}

// ResumeMeter returns the Meter of which so much is taken and reserved, or false if that is
// more than the limit, or if the limit is Max.
func ResumeMeter(limit, taken, reserved Amount) (Meter, bool) {
	sum := taken.Add(reserved) // Max, which is above every limit, where it does not fit
	if limit == Max || sum.Cmp(limit) > 0 {
		return Meter{}, false
	}
	return Meter{limit: limit, left: limit.Sub(sum), reserved: reserved}, true
}

// Limit returns the limit.
func (m *Meter) Limit() Amount { return m.limit }

// Taken returns what was taken and will not come back.
func (m *Meter) Taken() Amount { return m.limit.Sub(m.left).Sub(m.reserved) }

// Reserved returns what is reserved until Settle.
func (m *Meter) Reserved() Amount { return m.reserved }

// Left returns what is neither taken nor reserved.
func (m *Meter) Left() Amount { return m.left }

// Fits reports whether a is at most what is left. It changes nothing.
func (m *Meter) Fits(a Amount) bool { return !m.left.units.less(a.units) }

// Take takes a, or returns false if it does not fit.
func (m *Meter) Take(a Amount) bool {
	if !m.Fits(a) {
		return false
	}
	m.left = m.left.Sub(a)
	return true
}

// Reserve sets a aside until Settle, or returns false if it does not fit.
func (m *Meter) Reserve(a Amount) bool {
	if !m.Take(a) {
		return false
	}
	m.reserved = m.reserved.Add(a)
	return true
}

// Settle ends a reservation of worst: it takes actual of it and gives back the rest. It
// returns false if actual > worst or if less than worst is reserved.
func (m *Meter) Settle(worst, actual Amount) bool {
	if actual.Cmp(worst) > 0 || worst.Cmp(m.reserved) > 0 {
		return false
	}
	m.reserved = m.reserved.Sub(worst)
	m.left = m.left.Add(worst.Sub(actual))
	return true
}
