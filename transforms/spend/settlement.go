package spend

import (
	"cmp"
	"context"
	"errors"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// Settlement is a settled span, of the turns First to Turn: the precision at
// which every released key stopped. It is read-only and safe for concurrent use.
type Settlement struct {
	First, Turn uint64

	firstRungs []state.Precision
	released   map[Cell]state.Precision
}

// NewSettlement indexes a complete SETTLED record.
func NewSettlement(s schemas.Settled) *Settlement {
	n := &Settlement{First: cmp.Or(s.First, s.Turn), Turn: s.Turn, firstRungs: s.FirstRungs, released: make(map[Cell]state.Precision, len(s.Keys))}
	for _, k := range s.Keys {
		n.released[Cell{k.Metric, k.WindowStart, k.WindowEnd, string(k.Key)}] = k.Precision
	}
	return n
}

// Keys returns the number of released keys.
func (s *Settlement) Keys() int { return len(s.released) }

// precision returns the precision that a key's contributors pay for: the one at which its release
// stopped, or that of the first rung for a private key that was not released. Zero means unknown.
func (s *Settlement) precision(w schemas.MetricWindow, key []byte, private bool) state.Precision {
	if u, ok := s.released[Cell{w.Metric, w.WindowStart, w.WindowEnd, string(key)}]; ok {
		return u
	}
	if private && int(w.Metric) < len(s.firstRungs) {
		return s.firstRungs[w.Metric]
	}
	return state.Precision{}
}

// ErrForgotten is returned for a turn that was settled so long ago that its
// settlement is no longer at hand.
var ErrForgotten = errors.New("the turn was settled long ago")

// Settlements finds settled turns; every turn of a span has the settlement of the span.
// Implementations must be safe for concurrent use.
type Settlements interface {
	Settlement(ctx context.Context, turn uint64) (*Settlement, error)
}
