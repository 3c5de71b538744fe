package generate

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Every record has one outcome, which follows from the record itself, and arrivals ascend.
func TestTruthFollowsFromTheRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Events: rapid.IntRange(0, 400).Draw(t, "events"),
			Users: rapid.IntRange(1, 50).Draw(t, "users"), Keys: rapid.IntRange(1, 12).Draw(t, "keys"),
			Start: time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC), Windows: rapid.IntRange(1, 5).Draw(t, "windows"),
			Window:   time.Duration(rapid.Int64Range(1, 3600).Draw(t, "seconds")) * time.Second,
			Lateness: time.Duration(rapid.Int64Range(0, 120).Draw(t, "lateness")) * time.Second, Skew: 5 * time.Second,
			Late: 0.2, Future: 0.1, Broken: 0.3, MaxRecordBytes: 4096,
		}
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		want := Truth{DeadLettered: map[string]uint64{}}
		previous := c.Start.UnixMilli()
		for e, ok := g.Next(); ok; e, ok = g.Next() {
			if e.Arrival < previous || e.Arrival >= c.End().UnixMilli() {
				t.Fatalf("arrival %d is before %d", e.Arrival, previous)
			}
			previous = e.Arrival
			want.Read++
			count(&want, c, e)
		}
		if diff := cmp.Diff(want, g.Truth()); diff != "" {
			t.Fatalf("truth differs (-by the records +stated):\n%s", diff)
		}
	})
}

// count classifies a record like the pipeline.
func count(sum *Truth, c Config, e Event) {
	decoder, err := event.NewDecoder(event.Format{
		Format: "jsonl", User: UserField, Key: KeyField, Time: TimeField, TimeUnit: "ms",
		MaxRecordBytes: c.MaxRecordBytes,
	})
	if err != nil {
		panic(err)
	}
	var decoded event.Event
	if err := decoder.Decode(e.Value, &decoded); err != nil {
		var broken *event.Error
		if errors.As(err, &broken) {
			sum.DeadLettered[broken.Class]++
		}
		return
	}
	switch millis := decoded.Millis; {
	case millis < c.Start.UnixMilli():
		sum.BeforeStart++
	case millis < e.Arrival-c.Lateness.Milliseconds():
		sum.Late++
	case millis > e.Arrival+c.Skew.Milliseconds():
		sum.Future++
	default:
		sum.Accepted++
	}
}

// Shares of outcomes and users lie within six standard deviations of the Config. The probability of
// a false reject is below 1e-7, and with the fixed seed the test is deterministic.
func TestShares(t *testing.T) {
	c := Defaults()
	c.Events = 200_000
	if !long.On() {
		c.Events = 50_000
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	first, byHour := 0, make([]int, 24)
	for e, ok := g.Next(); ok; e, ok = g.Next() {
		byHour[time.UnixMilli(e.Arrival).UTC().Hour()]++
		if bytes.Contains(e.Value, []byte(`"u0000001"`)) {
			first++
		}
	}
	truth := g.Truth()
	broken := uint64(0)
	for _, n := range truth.DeadLettered {
		broken += n
	}
	if len(truth.DeadLettered) < 7 {
		t.Errorf("only %d classes of broken records", len(truth.DeadLettered))
	}
	near := func(name string, got, share float64) {
		n := float64(c.Events)
		if sd := math.Sqrt(n * share); math.Abs(got-n*share) > 6*sd+1 {
			t.Errorf("%s: %.0f, want about %.0f ± %.0f", name, got, n*share, sd)
		}
	}
	near("broken", float64(broken), c.Broken)
	near("late", float64(truth.Late), c.Late)
	near("future", float64(truth.Future), c.Future)
	z := NewZipf(c.Users, 0.5).cumulative
	near("first user", float64(first), z[0]/z[len(z)-1]*(1-c.Broken))
	if night, evening := byHour[4], byHour[19]; 2*night > evening {
		t.Errorf("no daily rhythm: %d events at four, %d at seven in the evening", night, evening)
	}
}

func TestNewRefusesImpossibleStreams(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"events":   func(c *Config) { c.Events = -1 },
		"users":    func(c *Config) { c.Users = 0 },
		"keys":     func(c *Config) { c.Keys = 0 },
		"windows":  func(c *Config) { c.Windows = 0 },
		"window":   func(c *Config) { c.Window = 0 },
		"start":    func(c *Config) { c.Start = time.Time{} },
		"lateness": func(c *Config) { c.Lateness = -1 },
		"shares":   func(c *Config) { c.Late, c.Broken = 0.7, 0.7 },
		"NaN":      func(c *Config) { c.Late = math.NaN() },
		"record":   func(c *Config) { c.MaxRecordBytes = 10 },
	} {
		c := Defaults()
		change(&c)
		if _, err := New(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
