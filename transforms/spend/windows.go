package spend

import (
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Windows maps metric windows to turns, which are slices of event time. Its methods are pure
// functions of the configuration.
type Windows interface {
	// First returns the first turn of a metric window.
	First(w schemas.MetricWindow) uint64
	// Open reports whether a window of the metric that contains the turn's slice ends
	// after the turn.
	Open(metric uint32, turn uint64) bool
	// Needed returns the least turn whose slice belongs to a window that ends after the given turn;
	// turn+1 if there is none.
	Needed(turn uint64) uint64
	// LeastPeriod returns the least budget period that windows which end after the
	// turn can charge; math.MinInt64 if budgets are for life.
	LeastPeriod(turn uint64) int64
	// Elapsed returns how many milliseconds after a time, which is fixed for a budget period's
	// accounts and no data decide, a metric window ends.
	Elapsed(w schemas.MetricWindow, period int64) int64
}

// oneSlice is the Windows of metrics whose windows have one turn each.
type oneSlice struct{}

// First implements Windows; the caller asks only for windows of the turn that it decides.
func (oneSlice) First(schemas.MetricWindow) uint64             { return math.MaxUint64 }
func (oneSlice) Open(uint32, uint64) bool                      { return false }
func (oneSlice) Needed(turn uint64) uint64                     { return turn + 1 }
func (oneSlice) LeastPeriod(uint64) int64                      { return math.MinInt64 }
func (oneSlice) Elapsed(w schemas.MetricWindow, _ int64) int64 { return w.WindowEnd }

// openSlice is a slice of a window that is still open, as the ledger has it:
// encoded, because a day's window has a thousand of them.
type openSlice struct {
	turn uint64
	data []byte
}

// endedWindows are the windows that end with a turn, and what each user contributed to them.
type endedWindows struct {
	windows       []schemas.MetricWindow
	contributions []*contributions // by window; windows over the same slices share one
	taken         [][]bool         // by window: the labels that belong to its metric
	bases         []int            // by window of a share: the window of its metric
	each          []*contributions // each set of contributions once, the turn's own first
	slice         *contributions
}

// assemble assembles the windows that end with a turn, from the slices that are kept and the turn's
// own.
func (a *shardAccounts) assemble(turn uint64, windows []schemas.MetricWindow,
	slice *contributions) (*endedWindows, error) {
	e := &endedWindows{windows: windows, contributions: make([]*contributions, len(windows)), taken: make([][]bool,
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
			if c, err = a.since(first, slice); err != nil {
				return nil, err
			}
			byFirst[first] = c
			if c != slice {
				e.each = append(e.each, c)
			}
		}
		e.contributions[i] = c
		e.taken[i] = c.taken(m)
		if m.kind.Share {
			derived := w
			derived.Metric = uint32(m.base)
			if e.bases[i] = slices.Index(windows[:i], derived); e.bases[i] < 0 {
				return nil, fmt.Errorf("assembling a window of metric %s: %s, of which it is a share, has no such "+
					"window", m.spec.Name, m.spec.Of)
			}
		}
	}
	return e, nil
}

// since merges the kept slices from a turn on with the open turn's own.
func (a *shardAccounts) since(first uint64, slice *contributions) (*contributions, error) {
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

func (e *endedWindows) keysOf(window int, m *metric) [][]byte {
	if m.kind.Share {
		return m.spec.PublicKeys
	}
	return e.contributions[window].keys
}

// member is one user of the windows that end, with what the user contributed to the turn's own
// slice and to each window; nil for nothing.
type member struct {
	schemas.ContribUser
	part     *schemas.ContribUser
	byWindow []*schemas.ContribUser
}

// forgetUsers drops the users once they are admitted: charging does not need them.
func (e *endedWindows) forgetUsers() {
	for _, c := range e.each {
		c.users = nil
	}
}

// members calls fn for every user of the windows and of the turn's slice,
// ascending. Its argument is valid until fn returns.
func (e *endedWindows) members(fn func(m *member) error) error {
	next := make([]int, len(e.each))
	least := make([]*schemas.ContribUser, len(e.each)) // by set: the part of its least user
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

// retainSlices retains the decided turn's slice for open windows, and drops the slices that no open
// window needs.
func (a *shardAccounts) retainSlices(d *schemas.Delta) error {
	needed := a.windows.Needed(d.Turn)
	rest := a.open[:0]
	for _, s := range a.open {
		if s.turn >= needed {
			rest = append(rest, s)
		}
	}
	clear(a.open[len(rest):])
	a.open = rest
	if d.Turn < needed {
		return nil
	}
	o := schemas.OpenSlice{Turn: d.Turn, Filtered: d.Filtered, Labels: d.Labels}
	for i := range d.Users {
		if u := &d.Users[i]; len(u.Entries) > 0 {
			o.Users = append(o.Users, u.ContribUser)
		}
	}
	data, err := schemas.EncodeOpenSlice(o)
	if err != nil {
		return fmt.Errorf("keeping the slice of turn %d: %w", d.Turn, err)
	}
	a.open = append(a.open, openSlice{d.Turn, data})
	return nil
}
