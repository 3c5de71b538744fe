package sample

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

type record struct {
	user, key string
	millis    int64
}

func draw(t *rapid.T) []record {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record {
		return record{fmt.Sprint("u", rapid.IntRange(0, 12).Draw(t, "user")), fmt.Sprint("k", rapid.IntRange(0, 5).Draw(t, "key")), rapid.Int64Range(0, 25_000).Draw(t, "time")}
	}), 1, 60).Draw(t, "events")
}

func collect(o Options, events []record) *Sample {
	c := NewCollector(o)
	for _, e := range events {
		c.Add([]byte(e.user), []byte(e.key), e.millis)
	}
	return c.Sample()
}

// told writes a sample's windows with names, so that samples can be compared.
func told(t *rapid.T, s *Sample, size time.Duration, users map[uint32]string) map[string]uint32 {
	w, err := s.Windows(size)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint32{}
	for i := range w.Len() {
		for _, c := range w.At(i) {
			out[fmt.Sprint(w.Start+int64(i)*size.Milliseconds(), users[c.User], w.Names[c.Key])] = c.Events
		}
	}
	return out
}

func TestASampleIsWhatTheUsersDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := draw(t)
		o := Options{Step: 500 * time.Millisecond, Users: rapid.IntRange(1, 20).Draw(t, "users"), Cells: rapid.IntRange(1, 80).Draw(t, "cells"), Key: [32]byte{1}}
		s := collect(o, events)
		shuffled := slices.Clone(events)
		rand.New(runseed.PCG(t, 1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(s, collect(o, shuffled), cmp.AllowUnexported(Sample{}, stepCell{})); diff != "" {
			t.Fatalf("another order gives another sample:\n%s", diff)
		}
		if s.Kept > o.Users || len(s.cells) > o.Cells || s.Events != uint64(len(events)) {
			t.Fatalf("%d users, %d cells, %d events", s.Kept, len(s.cells), s.Events)
		}
		// Who was kept: those whose hash is below the limit, with all that they did.
		c := NewCollector(o)
		limit := uint64(math.MaxUint64)
		for r := s.Rate; r < 1; r *= 2 {
			limit /= 2
		}
		var kept []string
		for _, e := range events {
			if c.hash([]byte(e.user)) <= limit && !slices.Contains(kept, e.user) {
				kept = append(kept, e.user)
			}
		}
		slices.SortFunc(kept, func(a, b string) int {
			if c.hash([]byte(a)) < c.hash([]byte(b)) {
				return -1
			}
			return 1
		})
		if len(kept) != s.Kept || s.Users != float64(len(kept))/s.Rate {
			t.Fatalf("%d users are kept, want %d", s.Kept, len(kept))
		}
		users := map[uint32]string{}
		for i, u := range kept {
			users[uint32(i)] = u
		}
		for _, size := range []time.Duration{500 * time.Millisecond, 3 * time.Second} {
			want := map[string]uint32{}
			for _, e := range events {
				if slices.Contains(kept, e.user) {
					want[fmt.Sprint(Floor(e.millis, size.Milliseconds())*size.Milliseconds(), e.user, e.key)]++
				}
			}
			if diff := cmp.Diff(want, told(t, s, size, users)); diff != "" {
				t.Fatalf("windows of %s differ (-want +got):\n%s", size, diff)
			}
		}
	})
}

func TestARangeLeavesEventsOut(t *testing.T) {
	events := []record{{"a", "k", 0}, {"a", "k", 1000}, {"a", "k", 1999}, {"a", "k", 2000}}
	s := collect(Options{Step: time.Second, From: 1000, To: 2000}, events)
	if s.Events != 2 || s.Outside != 2 || s.First != 1000 || s.Last != 1999 {
		t.Errorf("%d events, %d outside, from %d to %d", s.Events, s.Outside, s.First, s.Last)
	}
	w, err := s.Windows(time.Second)
	if err != nil || w.Len() != 1 || w.Start != 1000 {
		t.Errorf("%+v, %v", w, err)
	}
	// No deployment counts an event before 1970.
	if s = collect(Options{Step: time.Second}, append(events, record{"a", "k", -1})); s.Events != 4 || s.Outside != 1 || s.First != 0 {
		t.Errorf("%d events, %d outside, from %d", s.Events, s.Outside, s.First)
	}
}

func TestARecordFarAwayIsAnErrorAndNoMemory(t *testing.T) {
	s := collect(Options{Step: time.Second}, []record{{"a", "k", 0}, {"a", "k", 1 << 50}})
	if _, err := s.Windows(time.Second); !errors.Is(err, ErrTooManyWindows) {
		t.Errorf("got %v, want ErrTooManyWindows", err)
	}
}

// Of 40,000 users a part is kept; over 30 keys of the hash the estimate of all is within four
// standard errors of the truth, and half of them are within 0.67.
func TestTheNumberOfUsersIsEstimated(t *testing.T) {
	const users = 40_000
	within := 0
	for key := range byte(30) {
		c := NewCollector(Options{Step: time.Second, Users: 3000, Key: [32]byte{key}})
		for u := range users {
			c.Add(fmt.Append(nil, u), nil, 0)
		}
		s := c.Sample()
		z := 1.96 * math.Abs(s.Users-users) / s.UsersError
		if z > 4 || s.Rate > 0.075 || s.Kept < 1000 {
			t.Errorf("key %d: %d of %d users kept, estimate %.0f ± %.0f", key, s.Kept, users, s.Users, s.UsersError)
		}
		if z < 0.67 {
			within++
		}
	}
	if within < 5 || within > 25 { // the keys are fixed: others would be beyond in 3 of 10,000 runs
		t.Errorf("%d of 30 estimates are within 0.67 standard errors", within)
	}
}

func BenchmarkAdd(b *testing.B) {
	random := rand.New(runseed.PCG(b, 1, 1))
	var ids [1 << 16][]byte
	for i := range ids {
		ids[i] = fmt.Appendf(nil, "user-%d", int(math.Pow(random.Float64(), 3)*1e6))
	}
	c := NewCollector(Options{Step: time.Hour})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Add(ids[i&(1<<16-1)], ids[(i*7)&1023], int64(i)*100)
		i++
	}
}

// Events of a user and key with other values are told apart, to seven binary digits; what would
// overflow stays at the most. Without the option values are not looked at.
func TestValuesAreKeptToSevenDigits(t *testing.T) {
	for _, values := range []bool{true, false} {
		c := NewCollector(Options{Step: time.Hour, Values: values})
		for _, v := range []int64{100, 100, -3, 1000, 1001, 1005, math.MinInt64} {
			c.AddN([]byte("u"), []byte("k"), 0, v, 1)
		}
		c.AddN([]byte("u"), []byte("k"), 0, -3, math.MaxUint32)
		w, err := c.Sample().Windows(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		want := []Cell{{Events: 1, Value: math.MinInt64}, {Events: math.MaxUint32, Value: -3}, {Events: 2, Value: 100}, {Events: 2, Value: 1000}, {Events: 1, Value: 1008}}
		if !values {
			want = []Cell{{Events: math.MaxUint32}}
		}
		if got := w.At(0); !slices.Equal(got, want) {
			t.Errorf("values %t: %v, want %v", values, got, want)
		}
		s := w.Stats()
		if values && (s.Above.P50 != 0 || s.Above.Max != 1008 || s.Below.P50 != 3 || s.Below.Max != 1<<63) || !values && s.Above != nil {
			t.Errorf("values %t: above %+v, below %+v", values, s.Above, s.Below)
		}
	}
}

// A user who alone would fill what is remembered is left out, and the others stay.
func TestOneUserDoesNotPushOutTheOthers(t *testing.T) {
	c := NewCollector(Options{Step: time.Hour, Cells: 1000})
	for i := range 5000 {
		c.Add([]byte("heavy"), []byte(strconv.Itoa(i)), 0)
		if i < 100 {
			c.Add([]byte(strconv.Itoa(i)), []byte("k"), 0)
		}
	}
	s := c.Sample()
	w, err := s.Windows(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if s.Left != 1 || s.Rate != 1 || s.Kept != 101 || len(w.At(0)) != 100 {
		t.Errorf("%d left out, rate %v, %d kept, %d cells", s.Left, s.Rate, s.Kept, len(w.At(0)))
	}
}
