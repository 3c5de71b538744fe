package spend

import (
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Windows maps metric windows to turns. Results depend only on the configuration.
type Windows interface {
	// First returns the first turn of a metric window.
	First(w schemas.MetricWindow) uint64
	// Open reports whether a window of the metric contains the turn's slice and ends later.
	Open(metric uint32, turn uint64) bool
	// Needed returns the first turn whose slice belongs to a window that ends after the given turn,
	// or turn+1 if there is none.
	Needed(turn uint64) uint64
	// LeastPeriod returns the earliest budget period that a window ending after the turn can
	// charge; math.MinInt64 if budgets are for life.
	LeastPeriod(turn uint64) int64
	// Elapsed returns the time from a fixed instant of a budget period to the end of a metric
	// window, in milliseconds.
	Elapsed(w schemas.MetricWindow, period int64) int64
}

// oneSlice implements Windows for windows of one turn each.
type oneSlice struct{}

// First implements Windows. The caller limits the result to the decided turn.
func (oneSlice) First(schemas.MetricWindow) uint64             { return math.MaxUint64 }
func (oneSlice) Open(uint32, uint64) bool                      { return false }
func (oneSlice) Needed(turn uint64) uint64                     { return turn + 1 }
func (oneSlice) LeastPeriod(uint64) int64                      { return math.MinInt64 }
func (oneSlice) Elapsed(w schemas.MetricWindow, _ int64) int64 { return w.WindowEnd }

// openSlice is an encoded slice of an open window. A window of a day has a thousand of them, and
// encoded slices take less memory than decoded ones.
type openSlice struct {
	turn uint64
	data []byte
}

// endedWindows holds the windows that end with a turn, and the contributions to them.
type endedWindows struct {
	windows       []schemas.MetricWindow
	contributions []*contributions // by window; windows of the same slices share them
	matches       [][]bool         // by window: labels that belong to its metric
	bases         []int            // by window: for a share, the window of the metric that it is derived from
	each          []*contributions // each distinct element of contributions once, slice first
	slice         *contributions   // the turn's own
}

// assemble assembles the windows that end with a turn, from the kept slices and the turn's own.
func (a *shardAccounts) assemble(turn uint64, windows []schemas.MetricWindow,
	slice *contributions) (*endedWindows, error) {
	e := &endedWindows{windows: windows, contributions: make([]*contributions, len(windows)), matches: make([][]bool,
		len(windows)), bases: make([]int, len(windows)), slice: slice, each: []*contributions{slice}}
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
				e.each = append(e.each, c)
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

// keysOf returns the keys of a window of a metric, ascending.
func (e *endedWindows) keysOf(window int, m *metric) [][]byte {
	if m.kind.Share {
		return m.spec.PublicKeys
	}
	return e.contributions[window].keys
}

// member is a user who contributed to the turn's own slice or to an ended window.
type member struct {
	schemas.ContribUser
	part     *schemas.ContribUser   // contributions to the turn's own slice; nil if there are none
	byWindow []*schemas.ContribUser // contributions to each window; nil if there are none
}

// forgetUsers drops the users, whom charging does not need.
func (e *endedWindows) forgetUsers() {
	for _, c := range e.each {
		c.users = nil
	}
}

// eachMember calls fn for every user of the windows and of the turn's slice, ascending. The
// argument is valid until fn returns.
func (e *endedWindows) eachMember(fn func(m *member) error) error {
	next := make([]int, len(e.each))
	least := make([]*schemas.ContribUser, len(e.each)) // by index of each: contributions of the least user
	positions := make([]int, len(e.contributions))
	for i, c := range e.contributions {
		positions[i] = slices.Index(e.each, c)
	}
	m := member{byWindow: make([]*schemas.ContribUser, len(e.windows))}
	for {
		found := false
		for i, c := range e.each {
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
