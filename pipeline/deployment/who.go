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

// Who is how much of a user with even habits counts over the horizon of an allowance.
type Who struct {
	Events int     `json:"events_a_day"`
	Keys   int     `json:"keys"`
	Value  int64   `json:"value,omitempty"` // value of each event, for a sum: the one that costs most
	Share  float64 `json:"share_counted"`
}

// Users are those with even habits.
type Users []Who

// String is a line like "pays for 100 % of the events of a user with 1 a day, 48 % with 20 a day".
func (u Users) String() string {
	var parts []string
	for _, w := range u {
		share := strconv.FormatFloat(math.Round(1000*w.Share)/10, 'f', -1, 64)
		if len(parts) > 0 {
			parts = append(parts, fmt.Sprintf("%s %% with %s", share, w))
			continue
		}
		events := "events"
		if w.Value != 0 {
			events = fmt.Sprintf("events of %d", w.Value)
		}
		parts = append(parts, fmt.Sprintf("pays for %s %% of the %s of a user with %s", share, events, w))
	}
	return strings.Join(parts, ", ")
}

// String is the habit in a few words.
func (w Who) String() string {
	if w.Keys == 1 {
		return fmt.Sprintf("%d a day", w.Events)
	}
	return fmt.Sprintf("%d a day in %d keys", w.Events, w.Keys)
}

// habits are the habits of a daily, a busy and a heavy user.
func habits() []Who {
	return []Who{{Events: 1, Keys: 1}, {Events: 20, Keys: 5}, {Events: 500, Keys: 20}}
}

const (
	day = 24 * time.Hour
	// mostWindows bounds the work: of a longer horizon, the first windows are looked at.
	mostWindows = 100_000
)

// WhoCounts runs the admission code for the metric of this name; nil for a derived one. It needs up
// to a second.
func WhoCounts(b budgets.Budget, metrics []schemas.MetricSpec, name string) (out Users, err error) {
	metric := slices.IndexFunc(metrics, func(m schemas.MetricSpec) bool { return m.Name == name })
	if metric < 0 || metrickind.Of(metrics[metric].Kind).Derived() {
		return nil, nil
	}
	m := &metrics[metric]
	person, err := spend.NewPerson(b, metrics, name)
	if err != nil {
		return nil, fmt.Errorf("asking who counts in metric %s: %w", name, err)
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
		if h.Share, err = shareOf(person, m, h); err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

func shareOf(p *spend.Person, m *schemas.MetricSpec, h Who) (float64, error) {
	keys := make([][]byte, h.Keys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %02d", i)
		if m.KeyMode == schemas.KeysPublic {
			keys[i] = m.PublicKeys[i]
		}
	}
	p.Begin(accounts.ID{1}, keys)
	kind, value := metrickind.Of(m.Kind), min(max(1, m.Min), m.Max)
	if h.Value != 0 {
		value = h.Value
	}
	each := float64(h.Events) * float64(m.WindowSize) / float64(day.Milliseconds())
	var had, counted, id uint64
	for elapsed := m.WindowSize; elapsed <= m.Horizon && elapsed/m.WindowSlide <=
		mostWindows; elapsed += m.WindowSlide {
		before := uint64(math.Floor(each * float64(elapsed/m.WindowSlide-1)))
		events := uint64(math.Floor(each*float64(elapsed/m.WindowSlide))) - before
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
			had += n
		}
		parts, err := p.Window(elapsed, entries, records)
		if err != nil {
			return 0, err
		}
		for _, part := range parts {
			counted += uint64(max(part.Total, -part.Total))
		}
	}
	if had == 0 {
		return 1, nil
	}
	return min(1, float64(counted)/float64(had)), nil
}
