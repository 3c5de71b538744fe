package spend

import (
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Windows maps metric windows to turns. Its results depend only on the configuration.
type Windows interface {
	// First returns the first turn of a metric window.
	First(w schemas.MetricWindow) uint64
	// Open reports whether a window of the metric contains the slice of the turn and ends later.
	Open(metric uint32, turn uint64) bool
	// Needed returns the first turn whose slice belongs to a window that ends after the given turn,
	// or turn+1 if there is no such window.
	Needed(turn uint64) uint64
	// LeastPeriod returns the earliest budget period that a window ending after the turn can
	// charge. It is math.MinInt64 if budgets are for life.
	LeastPeriod(turn uint64) int64
	// Elapsed returns the milliseconds from a fixed instant of a budget period to the window's end.
	Elapsed(w schemas.MetricWindow, period int64) int64
}

// oneSlice implements Windows for windows that consist of one turn each.
type oneSlice struct{}

// First implements Windows. The caller limits the result to the decided turn.
func (oneSlice) First(schemas.MetricWindow) uint64             { return math.MaxUint64 }
func (oneSlice) Open(uint32, uint64) bool                      { return false }
func (oneSlice) Needed(turn uint64) uint64                     { return turn + 1 }
func (oneSlice) LeastPeriod(uint64) int64                      { return math.MinInt64 }
func (oneSlice) Elapsed(w schemas.MetricWindow, _ int64) int64 { return w.WindowEnd }

// openSlice is an encoded slice of an open window. Slices stay encoded to save memory: a window of
// one day can have a thousand of them.
type openSlice struct {
	turn uint64
	data []byte
}

// endedWindows holds the windows that end with a turn, and the contributions to these windows.
type endedWindows struct {
	windows       []schemas.MetricWindow
	contributions []*contributions // by window; windows with the same slices share them
	matches       [][]bool         // by window: labels that the window's metric counts
	bases         []int            // by window: for a share, index of the base metric's window
	distinct      []*contributions // the distinct elements of contributions, beginning with slice
	slice         *contributions   // the slice of the turn itself
}

// assemble assembles the windows that end with a turn, from earlier slices and the turn's own.
func (a *shardAccounts) assemble(turn uint64, windows []schemas.MetricWindow,
	slice *contributions) (*endedWindows, error) {
	e := &endedWindows{windows: windows, contributions: make([]*contributions, len(windows)), matches: make([][]bool,
		len(windows)), bases: make([]int, len(windows)), slice: slice, distinct: []*contributions{slice}}
	byFirst := map[uint64]*contributions{}
	for i, w := range windows {
		m, err := a.metric(w)
		if err != nil {
			return nil, err
		}
		first := min(a.windows.First(w), turn)
		c := byFirst[first]
		if c == nil {
			if c, err = a.mergeSince(first, slice); err != nil {
				return nil, err
			}
			byFirst[first] = c
			if c != slice {
				e.distinct = append(e.distinct, c)
			}
		}
		e.contributions[i] = c
		e.matches[i] = c.matches(m)
		if m.kind.Share {
			derived := w
			derived.Metric = uint32(m.base)
			if e.bases[i] = slices.Index(windows[:i], derived); e.bases[i] < 0 {
				return nil, fmt.Errorf("assembling a window of metric %s: its base metric %s has no such "+
					"window", m.spec.Name, m.spec.Of)
			}
		}
	}
	return e, nil
}

// mergeSince merges the slices from turn first to the open turn, whose slice is given.
func (a *shardAccounts) mergeSince(first uint64, slice *contributions) (*contributions, error) {
	parts := []*contributions{}
	for _, s := range a.open {
		if s.turn < first {
			continue
		}
		o, err := schemas.DecodeOpenSlice(s.data)
		if err != nil {
			return nil, fmt.Errorf("reading the slice of turn %d: %w", s.turn, err)
		}
		parts = append(parts, &contributions{labels: o.Labels, users: o.Users, filtered: o.Filtered})
	}
	if len(parts) == 0 {
		return slice, nil
	}
	return new(merged).merge(append(parts, slice))
}

// keysOf returns the keys of a window in ascending order.
func (e *endedWindows) keysOf(window int, m *metric) [][]byte {
	if m.kind.Share {
		return m.spec.PublicKeys
	}
	return e.contributions[window].keys
}

// member is a user who contributed to the turn's own slice or to a window that ends.
type member struct {
	schemas.ContribUser
	part     *schemas.ContribUser   // contributions to the turn's own slice; nil if there are none
	byWindow []*schemas.ContribUser // by window: contributions to it; nil if there are none
}

// forgetUsers drops the users, because charging does not need them.
func (e *endedWindows) forgetUsers() {
	for _, c := range e.distinct {
		c.users = nil
	}
}

// eachMember calls fn for every user of the windows and of the turn's slice, in ascending order.
// The argument of fn is valid only until fn returns.
func (e *endedWindows) eachMember(fn func(m *member) error) error {
	next := make([]int, len(e.distinct))
	least := make([]*schemas.ContribUser, len(e.distinct)) // by index of distinct: contributions of the least user
	positions := make([]int, len(e.contributions))
	for i, c := range e.contributions {
		positions[i] = slices.Index(e.distinct, c)
	}
	m := member{byWindow: make([]*schemas.ContribUser, len(e.windows))}
	for {
		found := false
		for i, c := range e.distinct {
			least[i] = nil
			if next[i] == len(c.users) {
				continue
			}
			u, order := &c.users[next[i]], -1
			if found {
				order = schemas.CompareUsers(u, &m.ContribUser)
			}
			if order < 0 {
				clear(least[:i])
				m.ID, m.Period, found = u.ID, u.Period, true
			}
			if order <= 0 {
				least[i] = u
			}
		}
		if !found {
			return nil
		}
		m.part = least[0]
		for i := range m.byWindow {
			m.byWindow[i] = least[positions[i]]
		}
		if err := fn(&m); err != nil {
			return err
		}
		for i := range least {
			if least[i] != nil {
				next[i]++
			}
		}
	}
}
