package generate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Event is one record, in the form in which it reaches the topic.
type Event struct {
	Arrival int64  // Unix milliseconds, ascending
	Value   []byte // JSON, which may be broken
}

// Names of the fields of the generated JSON. Times are in Unix milliseconds.
const (
	UserField = "user"
	KeyField  = "page"
	TimeField = "ts"
)

// Generator makes events. It must not be used concurrently.
type Generator struct {
	c        Config
	r        *rand.Rand
	users    Zipf
	keys     Zipf
	names    []string
	plan     arrivals
	slice    int
	fraction []float64 // positions of the next events in the slice, descending; the last is used first
	made     int       // number of events that Next has returned
	truth    Truth
}

// New returns a generator. The error, if not nil, is an ErrConfig.
func New(c Config) (*Generator, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Generator{
		c: c, r: rand.New(rand.NewPCG(c.Seed, 0x746f6c6c67617465)),
		users: NewZipf(c.Users, 0.5), keys: NewZipf(c.Keys, 0.6), names: Names(c.Keys),
		plan: newArrivals(c), slice: -1,
		truth: Truth{DeadLettered: map[string]uint64{}},
	}, nil
}

// Names returns the names of n pages, beginning with the most frequent.
func Names(n int) []string {
	pages := []string{"/home", "/search", "/product", "/cart", "/checkout", "/account", "/deals", "/help"}
	for i := len(pages); i < n; i++ {
		pages = append(pages, fmt.Sprintf("/topic/%d", i+1))
	}
	return slices.Clone(pages[:n])
}

// Truth returns the outcomes of the events that Next has returned.
func (g *Generator) Truth() Truth { return g.truth.clone() }

// Next returns the next event. It returns false after the last event.
func (g *Generator) Next() (Event, bool) {
	if g.made == g.c.Events {
		return Event{}, false
	}
	for len(g.fraction) == 0 {
		g.drawSlice()
	}
	last := len(g.fraction) - 1
	arrival := g.plan.millis(g.slice, g.fraction[last])
	g.fraction = g.fraction[:last]
	g.made++
	g.truth.Read++
	return Event{Arrival: arrival, Value: g.value(arrival)}, true
}

// drawSlice draws the arrivals of the next slice.
func (g *Generator) drawSlice() {
	before := 0
	if g.slice >= 0 {
		before = g.plan.upTo[g.slice]
	}
	g.slice++
	for range g.plan.upTo[g.slice] - before {
		g.fraction = append(g.fraction, g.r.Float64())
	}
	slices.SortFunc(g.fraction, func(a, b float64) int { return cmp.Compare(b, a) })
}

// value draws the user, page, time and outcome of an event, and returns its record.
func (g *Generator) value(arrival int64) []byte {
	user := fmt.Sprintf("u%07d", g.users.Draw(g.r)+1)
	page := g.names[g.page(arrival)]
	draw := g.r.Float64()
	if draw < g.c.Broken {
		kind := kinds[g.r.IntN(len(kinds))]
		if kind.rare && g.r.IntN(20) != 0 {
			kind = kinds[0]
		}
		g.truth.DeadLettered[kind.class]++
		return kind.make(g.c, user, page, arrival)
	}
	draw -= g.c.Broken
	millis := g.eventTime(arrival, draw)
	switch {
	case millis < g.c.Start.UnixMilli():
		g.truth.BeforeStart++
	case millis < arrival-g.c.Lateness.Milliseconds():
		g.truth.Late++
	case millis > arrival+g.c.Skew.Milliseconds():
		g.truth.Future++
	default:
		g.truth.Accepted++
	}
	return record(user, page, millis)
}

// eventTime draws the time of an event. A late event that would lie before the start is made on
// time instead, so that every event has exactly one outcome.
func (g *Generator) eventTime(arrival int64, draw float64) int64 {
	lateness, skew := g.c.Lateness.Milliseconds(), g.c.Skew.Milliseconds()
	if draw < g.c.Late {
		millis := arrival - lateness - 1 - int64(g.r.ExpFloat64()*600_000)
		if millis >= g.c.Start.UnixMilli() {
			return millis
		}
	} else if draw < g.c.Late+g.c.Future {
		return arrival + skew + 1 + int64(g.r.ExpFloat64()*3_600_000)
	}
	delay := int64(g.r.ExpFloat64() * 800)
	if g.r.IntN(50) == 0 { // a phone that was offline for a moment
		delay = int64(g.r.Float64() * float64(lateness))
	}
	return arrival - min(delay, lateness)
}

// page draws a page by Zipf's law. Different pages have their peaks at different hours.
func (g *Generator) page(arrival int64) int {
	for {
		rank := g.keys.Draw(g.r)
		peak := time.Duration(rank*5%24) * time.Hour
		if g.r.Float64() < 0.6+0.4*daily(time.UnixMilli(arrival).Add(peak))/2 {
			return rank
		}
	}
}

// record returns a well-formed event.
func record(user, page string, millis int64) []byte {
	return fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d}`, user, page, millis)
}
