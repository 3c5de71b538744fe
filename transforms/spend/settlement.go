package spend

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/runs"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Settlement is a settled turn, with the final precision of every released key. It is read-only.
type Settlement struct {
	Turn uint64

	firstRungs []units.Precision
	released   []*schemas.SettledKey // sorted by window, metric and key
}

// NewSettlement indexes the keys of a complete SETTLED record, and keeps pointers to it.
func NewSettlement(s schemas.Settled) *Settlement {
	n := &Settlement{Turn: s.Turn, firstRungs: s.FirstRungs, released: make([]*schemas.SettledKey, len(s.Keys))}
	for i := range s.Keys {
		n.released[i] = &s.Keys[i]
	}
	// The keys of each release shard are already sorted.
	n.released, _ = runs.Sort(n.released, nil, func(a, b *schemas.SettledKey) int {
		if order := compareWindows(a, windowOf(b)); order != 0 {
			return order
		}
		return bytes.Compare(a.Key, b.Key)
	})
	return n
}

func windowOf(k *schemas.SettledKey) schemas.MetricWindow {
	return schemas.MetricWindow{Metric: k.Metric, WindowStart: k.WindowStart, WindowEnd: k.WindowEnd}
}

func compareWindows(k *schemas.SettledKey, w schemas.MetricWindow) int {
	switch {
	case k.WindowEnd != w.WindowEnd:
		return cmp.Compare(k.WindowEnd, w.WindowEnd)
	case k.WindowStart != w.WindowStart:
		return cmp.Compare(k.WindowStart, w.WindowStart)
	}
	return cmp.Compare(k.Metric, w.Metric)
}

// Keys returns the number of released keys.
func (s *Settlement) Keys() int { return len(s.released) }

// precisions returns, for each key of a window, the precision for which the key's contributors pay.
// This is the final precision of a released key, or the first rung of a private key that was not
// released, or else 0. keys must be in ascending order.
func (s *Settlement) precisions(w schemas.MetricWindow, keys [][]byte, private bool) []units.Precision {
	out := make([]units.Precision, len(keys))
	first, _ := slices.BinarySearchFunc(s.released, w, compareWindows)
	remaining := s.released[first:]
	for i, key := range keys {
		compare := func(k *schemas.SettledKey, key []byte) int {
			return cmp.Or(compareWindows(k, w), bytes.Compare(k.Key, key))
		}
		// The key is probably near. A search in doubling steps, and then between the last two,
		// finds a few keys among many quickly, and many keys in little more than one pass.
		step := 1
		for step <= len(remaining) && compare(remaining[step-1], key) < 0 {
			step *= 2
		}
		offset, found := slices.BinarySearchFunc(remaining[step/2:min(step, len(remaining))], key, compare)
		remaining = remaining[step/2+offset:]
		switch {
		case found:
			out[i] = remaining[0].Precision
		case private && int(w.Metric) < len(s.firstRungs):
			out[i] = s.firstRungs[w.Metric]
		}
	}
	return out
}

// ErrForgotten is returned for a turn that was settled so long ago that its keys are gone.
var ErrForgotten = errors.New("the turn was settled long ago")

// Settlements looks up settled turns. Implementations must be safe for concurrent use.
type Settlements interface {
	Settlement(ctx context.Context, turn uint64) (*Settlement, error)
}
