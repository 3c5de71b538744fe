package shapes

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Event is one event of a shape.
type Event struct {
	User, Key string
	At        time.Time
	Value     int64 // of shapes with values
}

// Shape is a data set.
type Shape struct {
	Name   string
	Like   string        // what it is like, in a line
	Window time.Duration // that a person would ask for
	make   func(*maker)
}

// Start is when the events of all shapes begin.
var Start = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)

// All returns the ten shapes.
func All() []Shape {
	const day = 24 * time.Hour
	return []Shape{
		{"heavy", "40 users with 1,500 events each beside 3,000 with 10", time.Hour, heavy},
		{"light", "30,000 users with one or two events each", time.Hour, light},
		{"giant", "one key has nine of ten events", time.Hour, giant},
		{"tail", "a long tail of keys: 5,000 keys by Zipf's law, 8,000 users", 6 * time.Hour, tail},
		{"rhythm", "days and nights: an hour at noon has twenty times as many events as one at night", time.Hour, rhythm},
		{"once", "everything in one window", day, once},
		{"windows", "10,000 windows of a minute, each of few events", time.Minute, windows},
		{"sparse", "2,000 users who come every other day, few keys", day, sparse},
		{"bursts", "three hours with fifty times as many users as the others", time.Hour, bursts},
		{"ratings", "943 users rate 1,682 films in seven months, most of a user's ratings in one sitting", 7 * day, ratings},
	}
}

// Valued returns shapes whose events have values.
func Valued() []Shape {
	return []Shape{
		{"orders", "what 5,000 customers pay, most little and a few very much, in four regions", 6 * time.Hour, orders},
		{"sensors", "temperatures around 0 in tenths of a degree, of 900 sensors in five places, every hour", 12 * time.Hour, sensors},
	}
}

// Events returns the events of a shape in the order of time.
func (s Shape) Events() []Event {
	m := &maker{Rand: rand.New(rand.NewPCG(0x5ba9e, uint64(len(s.Name))<<32|uint64(s.Name[0])))}
	s.make(m)
	slices.SortStableFunc(m.events, func(a, b Event) int { return cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()) })
	return m.events
}

// WriteCSV writes events with a header: user, key, time in RFC 3339, value.
func WriteCSV(w io.Writer, events []Event) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "user,key,time,value") //nolint:errcheck // Flush tells
	for _, e := range events {
		fmt.Fprintf(b, "%s,%s,%s,%d\n", e.User, e.Key, e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Value) //nolint:errcheck // Flush tells
	}
	return b.Flush()
}

// maker collects events.
type maker struct {
	*rand.Rand
	events []Event
}

func (m *maker) add(user, key int, after time.Duration) {
	m.events = append(m.events, Event{User: fmt.Sprintf("u%05d", user), Key: fmt.Sprintf("k%04d", key), At: Start.Add(after)})
}

func (m *maker) addValue(user, key int, after time.Duration, value float64) {
	m.add(user, key, after)
	m.events[len(m.events)-1].Value = int64(math.Round(value))
}

// upTo returns a duration below d.
func (m *maker) upTo(d time.Duration) time.Duration { return time.Duration(m.Int64N(int64(d))) }

// zipf returns a rank below n with probability proportional to 1/(rank + q).
func (m *maker) zipf(n int, q float64) int {
	return min(n-1, int(q*(math.Pow((float64(n)+q)/q, m.Float64())-1)))
}

func heavy(m *maker) {
	for u := range 40 {
		for range 1500 {
			m.add(u, m.zipf(20, 2), m.upTo(24*time.Hour))
		}
	}
	for u := range 3000 {
		for range 10 {
			m.add(100+u, m.zipf(20, 2), m.upTo(24*time.Hour))
		}
	}
}

func light(m *maker) {
	for u := range 30_000 {
		for range 1 + m.IntN(2) {
			m.add(u, m.zipf(10, 1), m.upTo(24*time.Hour))
		}
	}
}

func giant(m *maker) {
	for u := range 8000 {
		for range 1 + m.zipf(20, 2) {
			key := 0
			if m.IntN(10) == 0 {
				key = 1 + m.IntN(50)
			}
			m.add(u, key, m.upTo(12*time.Hour))
		}
	}
}

func tail(m *maker) {
	for u := range 8000 {
		for range 1 + m.zipf(30, 3) {
			m.add(u, m.zipf(5000, 1), m.upTo(24*time.Hour))
		}
	}
}

func rhythm(m *maker) {
	for u := range 12_000 {
		for range 1 + m.zipf(10, 2) {
			hour := 0.0
			for { // by rejection: a night's hour has a twentieth of noon's weight
				hour = 72 * m.Float64()
				if m.Float64() < 0.05+0.95*math.Pow(math.Sin(math.Pi*math.Mod(hour, 24)/24), 4) {
					break
				}
			}
			m.add(u, m.zipf(12, 1), time.Duration(hour*float64(time.Hour)))
		}
	}
}

func once(m *maker) {
	for u := range 15_000 {
		for range 1 + m.zipf(15, 1) {
			m.add(u, m.zipf(200, 3), m.upTo(24*time.Hour))
		}
	}
}

func windows(m *maker) {
	for u := range 3000 {
		for range 1 + m.zipf(60, 5) {
			m.add(u, m.zipf(5, 1), m.upTo(10_000*time.Minute))
		}
	}
}

func sparse(m *maker) {
	for u := range 2000 {
		for day := range 30 {
			if m.IntN(2) == 0 {
				m.add(u, m.zipf(6, 1), time.Duration(day)*24*time.Hour+m.upTo(24*time.Hour))
			}
		}
	}
}

func bursts(m *maker) {
	for u := range 24_000 {
		hour := m.IntN(48)
		if u%16 != 0 {
			hour = []int{7, 21, 40}[m.IntN(3)]
		}
		for range 1 + m.zipf(8, 2) {
			m.add(u, m.zipf(15, 1), time.Duration(hour)*time.Hour+m.upTo(time.Hour))
		}
	}
}

func ratings(m *maker) {
	for u := range 943 {
		n := 20 + m.zipf(430, 18)
		began := m.upTo(214 * 24 * time.Hour)
		rated := map[int]bool{}
		for range n {
			film := m.zipf(1682, 60)
			if rated[film] {
				continue
			}
			rated[film] = true
			at := began + m.upTo(time.Hour)
			if m.IntN(10) == 0 { // on another day
				at = min(began+m.upTo(30*24*time.Hour), 214*24*time.Hour)
			}
			m.add(u, film, at)
		}
	}
}

func orders(m *maker) {
	for u := range 5000 {
		region := m.IntN(4)
		for range 1 + m.zipf(12, 2) {
			m.addValue(u, region, m.upTo(36*time.Hour), math.Exp(4+0.3*float64(region)+1.2*m.NormFloat64()))
		}
	}
}

func sensors(m *maker) {
	for u := range 900 {
		place, own := m.IntN(5), 10*m.NormFloat64()
		for hour := range 36 {
			night := -40 * math.Cos(2*math.Pi*float64(hour)/24)
			m.addValue(u, place, time.Duration(hour)*time.Hour+m.upTo(time.Hour), night+own+15*float64(place-2)+10*m.NormFloat64())
		}
	}
}
