package fixed

// Meter counts what was taken and what is reserved of a limit. The zero value has a
// limit of 0. Not safe for concurrent use.
type Meter struct {
	limit, taken, reserved Amount
}

// NewMeter returns a Meter of which nothing is taken. A limit of Max is lowered by
// one unit.
func NewMeter(limit Amount) Meter {
	if limit == Max {
		limit = largestLimit
	}
	return Meter{limit: limit}
}

// Left returns what is neither taken nor reserved.
func (m *Meter) Left() Amount { return m.limit.Sub(m.taken).Sub(m.reserved) }

// Fits reports whether a is at most what is left. It changes nothing.
func (m *Meter) Fits(a Amount) bool { return a.Cmp(m.Left()) <= 0 }

// Take takes a, or returns false if it does not fit.
func (m *Meter) Take(a Amount) bool {
	if !m.Fits(a) {
		return false
	}
	m.taken = m.taken.Add(a)
	return true
}

// Reserve sets a aside until Settle, or returns false if it does not fit.
func (m *Meter) Reserve(a Amount) bool {
	if !m.Fits(a) {
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
	m.taken = m.taken.Add(actual)
	return true
}
