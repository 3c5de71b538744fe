package deployment

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Habit is the regular behaviour of a typical user. Share is the part of the user's events that is
// counted over the horizon of an allowance.
type Habit struct {
	Events int     `json:"events_a_day"`
	Keys   int     `json:"keys"`
	Value  int64   `json:"value,omitempty"` // value of every event, for sums: the most expensive value
	Share  float64 `json:"share_counted"`
}

// Users are the habits of typical users.
type Users []Habit

// String returns a line like "pays for 100% of the events of a user with 1 a day, 48% with 20 a
// day".
func (u Users) String() string {
	var parts []string
	for _, h := range u {
		share := strconv.FormatFloat(math.Round(1000*h.Share)/10, 'f', -1, 64)
		if len(parts) > 0 {
			parts = append(parts, fmt.Sprintf("%s%% with %s", share, h))
			continue
		}
		events := "events"
		if h.Value != 0 {
			events = fmt.Sprintf("events of %d", h.Value)
		}
		parts = append(parts, fmt.Sprintf("pays for %s%% of the %s of a user with %s", share, events, h))
	}
	return strings.Join(parts, ", ")
}

// String describes the habit in a few words.
func (h Habit) String() string {
	if h.Keys == 1 {
		return fmt.Sprintf("%d a day", h.Events)
	}
	return fmt.Sprintf("%d a day in %d keys", h.Events, h.Keys)
}

// habits returns the habits of a daily, a busy and a heavy user.
func habits() []Habit {
	return []Habit{{Events: 1, Keys: 1}, {Events: 20, Keys: 5}, {Events: 500, Keys: 20}}
}

const (
	day        = 24 * time.Hour
	maxWindows = 100_000 // limits the work: further windows of a horizon are not simulated
)

// SimulateUsers runs the admission code for typical users. It returns them with the share of their
// events that is counted in the named metric, or nil for a derived metric. It takes up to a second.
func SimulateUsers(b budgets.Budget, metrics []schemas.MetricSpec, name string) (out Users, err error) {
	metric := slices.IndexFunc(metrics, func(m schemas.MetricSpec) bool { return m.Name == name })
	if metric < 0 || metrickind.Of(metrics[metric].Kind).Derived() {
		return nil, nil
	}
	m := &metrics[metric]
	person, err := spend.NewPerson(b, [32]byte{1}, metrics)
	if err != nil {
		return nil, fmt.Errorf("simulating users of metric %s: %w", name, err)
	}
	for _, h := range habits() {
		if m.KeyMode == schemas.KeysPublic {
			h.Keys = min(h.Keys, len(m.PublicKeys))
		}
		if metrickind.Of(m.Kind).Sums() {
			if h.Value = m.Max; -m.Min > m.Max {
				h.Value = m.Min
			}
		}
		if h.Share, err = shareOf(person, metric, m, h); err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// shareOf simulates a user whose events are spread evenly over time and keys. It returns the share
// of these events that is counted.
func shareOf(p *spend.Person, metric int, m *schemas.MetricSpec, h Habit) (float64, error) {
	keys := make([][]byte, h.Keys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %02d", i)
		if m.KeyMode == schemas.KeysPublic {
			keys[i] = m.PublicKeys[i]
		}
	}
	p.Begin(accounts.Entry{ID: accounts.ID{1}}, keys)
	kind, value := metrickind.Of(m.Kind), min(max(1, m.Min), m.Max)
	if h.Value != 0 {
		value = h.Value
	}
	perWindow := float64(h.Events) * float64(m.WindowSize) / float64(day.Milliseconds())
	var total, counted, id uint64
	for elapsed := m.WindowSize; elapsed <= m.Horizon && elapsed/m.WindowSlide <=
		maxWindows; elapsed += m.WindowSlide {
		before := uint64(math.Floor(perWindow * float64(elapsed/m.WindowSlide-1)))
		events := uint64(math.Floor(perWindow*float64(elapsed/m.WindowSlide))) - before
		if events == 0 {
			continue
		}
		var entries []schemas.KeyCount
		var records []schemas.RecordValue
		for k := range uint64(h.Keys) {
			n := events/uint64(h.Keys) + (uint64(h.Keys)-1-(before+k)%uint64(h.Keys)+events%uint64(h.Keys))/
				uint64(h.Keys)
			if n == 0 {
				continue
			}
			entries = append(entries, schemas.KeyCount{Key: uint32(k), N: uint32(n)})
			for i := uint64(0); kind.Values() && i < n; i++ {
				id++
				v := schemas.RecordValue{Key: uint32(k), N: 1, Value: value}
				binary.BigEndian.PutUint64(v.ID[:], id)
				records = append(records, v)
			}
			switch {
			case kind.OncePerUser:
				n = 1
			case kind.Sums():
				n *= uint64(max(value, -value))
			}
			total += n
		}
		parts, err := p.Window(metric, elapsed, entries, records)
		if err != nil {
			return 0, err
		}
		for _, part := range parts {
			counted += uint64(max(part.Total, -part.Total))
		}
	}
	if total == 0 {
		return 1, nil
	}
	return min(1, float64(counted)/float64(total)), nil
}
