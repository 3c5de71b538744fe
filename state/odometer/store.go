package odometer

import (
	"bytes"
	"errors"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/opaque"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// unreadable makes encoding/json an error: an odometer has no JSON form.
type unreadable = opaque.State

// MarshalBinary returns δ and what was recorded; see "Storing and resuming" of the package.
func (b *Basic) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerBasic, b, (*Basic).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (b *Basic) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerBasic, b, Basic{}, (*Basic).layout, data)
}

func (b *Basic) layout(c *stored.Codec) {
	c.Parameters.Float(&b.delta)
	made(c, b)(NewBasic(b.delta))
	c.Progress.Amount(&b.loss)
	c.Progress.Amount(&b.taken)
}

// made puts what a constructor made of the parameters into v where they were read.
func made[T any](c *stored.Codec, v *T) func(*T, error) {
	return func(fresh *T, err error) {
		if c.Fail(err); c.Reading() && !c.Failed() {
			*v = *fresh
		}
	}
}

// MarshalBinary returns δ, n and what was recorded; see "Storing and resuming" of the package.
func (a *Advanced) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerAdvanced, a, (*Advanced).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (a *Advanced) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerAdvanced, a, Advanced{}, (*Advanced).layout, data)
}

func (a *Advanced) layout(c *stored.Codec) {
	c.Parameters.Float(&a.delta)
	c.Parameters.Uint(&a.n)
	made(c, a)(NewAdvanced(a.delta, a.n))
	for _, sum := range []*fixed.Amount{&a.basic, &a.squares, &a.means, &a.deltaTotal} {
		c.Progress.Amount(sum)
	}
}

// MarshalBinary returns δ, orders and what was recorded; see "Storing and resuming" of the
// package.
func (r *Renyi) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerRenyi, r, (*Renyi).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (r *Renyi) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerRenyi, r, Renyi{}, (*Renyi).layout, data)
}

func (r *Renyi) layout(c *stored.Codec) {
	sums := r.sums
	if sums == nil {
		sums = new(RenyiTotal)
	}
	c.Parameters.Float(&r.delta)
	sums.layout(c)
	made(c, r)(NewRenyi(r.delta, sums.orders))
	if c.Reading() && !c.Failed() {
		r.sums = sums
	}
}

// MarshalBinary returns δ, the parameter of the mixture and what was recorded; see "Storing and
// resuming" of the package.
func (c *Concentrated) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerConcentrated, c, (*Concentrated).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (c *Concentrated) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerConcentrated, c, Concentrated{}, (*Concentrated).layout, data)
}

func (c *Concentrated) layout(codec *stored.Codec) {
	codec.Parameters.Float(&c.delta)
	codec.Parameters.Float(&c.q)
	made(codec, c)(newConcentrated(c.delta, c.q))
	codec.Progress.Amount(&c.rho)
}

// MarshalBinary returns what was recorded; see "Storing and resuming" of the package.
func (t *GDPTotal) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerGDPTotal, t, (*GDPTotal).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (t *GDPTotal) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerGDPTotal, t, GDPTotal{}, (*GDPTotal).layout, data)
}

func (t *GDPTotal) layout(c *stored.Codec) { c.Progress.Amount(&t.squares) }

// MarshalBinary returns what was recorded; see "Storing and resuming" of the package.
func (t *ZCDPTotal) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerZCDPTotal, t, (*ZCDPTotal).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (t *ZCDPTotal) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerZCDPTotal, t, ZCDPTotal{}, (*ZCDPTotal).layout, data)
}

func (t *ZCDPTotal) layout(c *stored.Codec) {
	c.Progress.Amount(&t.rho)
	c.Progress.Amount(&t.delta)
}

// MarshalBinary returns orders and what was recorded; see "Storing and resuming" of the package.
func (t *RenyiTotal) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerRenyiTotal, t, (*RenyiTotal).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (t *RenyiTotal) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.OdometerRenyiTotal, t, RenyiTotal{}, (*RenyiTotal).layout, data)
}

func (t *RenyiTotal) layout(c *stored.Codec) {
	n := len(t.orders)
	c.Parameters.Length(&n, 8+fixed.Size)
	if c.Reading() {
		t.orders = make([]float64, n)
	}
	for i := range t.orders {
		c.Parameters.Float(&t.orders[i])
	}
	made(c, t)(NewRenyiTotal(t.orders))
	for i := range t.sums {
		c.Progress.Amount(&t.sums[i])
	}
}

// MarshalBinary returns the budget of a step, how many there were and the state of the last; see
// "Storing and resuming" of the package. The filter must have a MarshalBinary.
func (t *Tracker[L]) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerTracker, t, (*Tracker[L]).layout)
}

// UnmarshalBinary resumes a stored state, into a tracker that NewTracker made of a filter of the
// same type and budget; see "Storing and resuming" of the package.
func (t *Tracker[L]) UnmarshalBinary(data []byte) error {
	if t.step == nil {
		return &accounts.DecodeError{What: stored.OdometerTracker.String(), Reason: "a tracker is read into one that NewTracker made"}
	}
	return stored.Read(stored.OdometerTracker, t, Tracker[L]{step: t.step}, (*Tracker[L]).layout, data)
}

var errStep = errors.New("its steps have another budget than those of the tracker that it is read into")

func (t *Tracker[L]) layout(c *stored.Codec) {
	if t.step == nil {
		c.Fail(errors.New("it was not made by NewTracker"))
		return
	}
	own := c.State(t.step)
	step := own
	c.Parameters.Bytes(&step)
	if !bytes.Equal(step, own) {
		c.Fail(errStep)
	}
	t.progress(c)
}

func (t *Tracker[L]) progress(c *stored.Codec) {
	c.Progress.Uint(&t.steps)
	if c.Failed() || t.steps == 0 {
		return
	}
	if c.Reading() {
		t.current = t.step.Fresh()
	}
	c.Progress.Value(t.current)
}

// resumed is the tracker that goes on with what was read: the one that copies of was have,
// too.
func resumed[L any](was, read *Tracker[L]) *Tracker[L] {
	if was == nil {
		return read
	}
	*was = *read
	return was
}

// MarshalBinary returns the budget of a step, how many there were and the state of the last; see
// "Storing and resuming" of the package.
func (t RenyiTracker) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerRenyiTracker, &t, (*RenyiTracker).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (t *RenyiTracker) UnmarshalBinary(data []byte) error {
	was := t.Tracker
	if err := stored.Read(stored.OdometerRenyiTracker, t, RenyiTracker{}, (*RenyiTracker).layout, data); err != nil {
		return err
	}
	t.Tracker = resumed(was, t.Tracker)
	return nil
}

func (t *RenyiTracker) layout(c *stored.Codec) {
	n := len(t.step)
	c.Parameters.Length(&n, 16)
	if c.Reading() {
		t.step = make([]loss.Order, n)
	}
	for i := range t.step {
		c.Parameters.Float(&t.step[i].Alpha)
		c.Parameters.Float(&t.step[i].Epsilon)
	}
	fresh, err := NewRenyiTracker(t.step)
	madeTracker(c, t, fresh, err, &t.Tracker)
}

// madeTracker is made for a tracker of one kind of loss, and the progress of it.
func madeTracker[T, L any](c *stored.Codec, t *T, fresh T, err error, tracker **Tracker[L]) {
	made(c, t)(&fresh, err)
	if !c.Failed() {
		(*tracker).progress(c)
	}
}

// MarshalBinary returns the budget of a step, how many there were and the state of the last; see
// "Storing and resuming" of the package.
func (t ZCDPTracker) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerZCDPTracker, &t, (*ZCDPTracker).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (t *ZCDPTracker) UnmarshalBinary(data []byte) error {
	was := t.Tracker
	if err := stored.Read(stored.OdometerZCDPTracker, t, ZCDPTracker{}, (*ZCDPTracker).layout, data); err != nil {
		return err
	}
	t.Tracker = resumed(was, t.Tracker)
	return nil
}

func (t *ZCDPTracker) layout(c *stored.Codec) {
	c.Parameters.Float(&t.rho)
	fresh, err := NewZCDPTracker(t.rho)
	madeTracker(c, t, fresh, err, &t.Tracker)
}

// MarshalBinary returns the budget of a step, how many there were and the state of the last; see
// "Storing and resuming" of the package.
func (t GDPTracker) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.OdometerGDPTracker, &t, (*GDPTracker).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (t *GDPTracker) UnmarshalBinary(data []byte) error {
	was := t.Tracker
	if err := stored.Read(stored.OdometerGDPTracker, t, GDPTracker{}, (*GDPTracker).layout, data); err != nil {
		return err
	}
	t.Tracker = resumed(was, t.Tracker)
	return nil
}

func (t *GDPTracker) layout(c *stored.Codec) {
	c.Parameters.Float(&t.mu)
	fresh, err := NewGDPTracker(t.mu)
	madeTracker(c, t, fresh, err, &t.Tracker)
}
