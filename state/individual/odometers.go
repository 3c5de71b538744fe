package individual

import (
	"fmt"
	"iter"

	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// Odometers follows every user's losses where no user is left out: one odometer of
// losses L and bounds B for each (Feldman and Zrnic, 2021, end of Section 4.4). What
// one odometer claims is true of its user alone, and is private data, as are the
// losses. Not safe for concurrent use.
type Odometers[K comparable, L, B any] struct {
	value[readings[K, L, B], *readings[K, L, B]]
}

type readings[K comparable, L, B any] struct {
	fresh func() (odometer.Odometer[L, B], error)
	none  B // the bound on a user who was never named
	users map[K]*reading[L, B]
	round uint64
}

type reading[L, B any] struct {
	odometer odometer.Odometer[L, B]
	round    uint64 // the last one that named this user
}

// NewOdometers returns odometers made by fresh, with nothing recorded. An error of
// fresh is returned, now or by Record.
func NewOdometers[K comparable, L, B any](fresh func() (odometer.Odometer[L, B], error)) (*Odometers[K, L, B], error) {
	first, err := fresh()
	if err != nil {
		return nil, fmt.Errorf("making a user's odometer: %w", err)
	}
	return &Odometers[K, L, B]{stored.New(readings[K, L, B]{fresh: fresh, none: first.Bound(), users: make(map[K]*reading[L, B])})}, nil
}

// NewGDPTotals is NewOdometers for users who are named by strings, and √Σμ² of their Gaussian
// losses (odometer.GDPTotal).
func NewGDPTotals() *Odometers[string, loss.GDP, loss.GDP] {
	return &Odometers[string, loss.GDP, loss.GDP]{stored.New(readings[string, loss.GDP, loss.GDP]{
		fresh: func() (odometer.Odometer[loss.GDP, loss.GDP], error) { return new(odometer.GDPTotal), nil },
		users: make(map[string]*reading[loss.GDP, loss.GDP]),
	})}
}

// Record adds the losses of one round before its mechanism runs. losses yields every
// user that the mechanism reads, once, with a bound on their individual loss, as for
// Filter.Round.
//
// After an error the mechanism must not run: ErrTwice, a loss that the odometer
// refuses, or the error of making one. What was recorded before it stays.
func (o *Odometers[K, L, B]) Record(losses iter.Seq2[K, L]) error {
	r := stored.Of(&o.value)
	r.round++
	for user, l := range losses {
		if err := r.record(user, l); err != nil {
			return fmt.Errorf("recording the losses of round %d: %w", r.round, err)
		}
	}
	return nil
}

func (o *readings[K, L, B]) record(user K, l L) error {
	r, ok := o.users[user]
	if !ok {
		fresh, err := o.fresh()
		if err != nil {
			return fmt.Errorf("making a user's odometer: %w", err)
		}
		r = &reading[L, B]{odometer: fresh}
		o.users[user] = r
	}
	if r.round == o.round {
		return ErrTwice
	}
	r.round = o.round
	return r.odometer.Record(l)
}

// Bound returns what the user's odometer claims. It changes nothing.
func (o *Odometers[K, L, B]) Bound(user K) B {
	own := stored.Of(&o.value)
	if r, ok := own.users[user]; ok {
		return r.odometer.Bound()
	}
	return own.none
}

func (*readings[K, L, B]) Kind() stored.Kind { return "individual.Odometers" }

// Blank makes the same odometers.
func (o *readings[K, L, B]) Blank() (readings[K, L, B], bool) {
	return readings[K, L, B]{fresh: o.fresh, none: o.none}, o.fresh != nil
}

func (o *readings[K, L, B]) Layout(c *stored.Codec) {
	fresh, err := o.fresh()
	if c.Fail(err); c.Failed() {
		return
	}
	same(c, fresh)
	c.Progress.Uint(&o.round)
	layoutUsers(c, &o.users, func(r **reading[L, B]) {
		if c.Reading() {
			fresh, err := o.fresh()
			if c.Fail(err); c.Failed() {
				return
			}
			*r = &reading[L, B]{odometer: fresh}
		}
		c.Progress.Value((*r).odometer)
	})
}
