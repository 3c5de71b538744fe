package plain

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	//lint:ignore SA1019 other people's pipelines run on it
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// someEvents returns events of users of all sorts: some within their budgets, some
// at the edge, some far beyond.
func someEvents(t testing.TB, seed uint64, users, windows int) []event {
	rng := rand.New(runseed.PCG(t, seed, 5))
	var events []event
	for u := range users {
		for w := range windows {
			for range rng.IntN(2 + u%5*3) {
				events = append(events, event{
					user: fmt.Sprintf("user %d", u), key: string(rune('a' + rng.IntN(6))),
					millis: base + int64(w)*hour + rng.Int64N(hour),
				})
			}
		}
	}
	return events
}

// TestStreamAndBoundedReleaseTheSame, and what a sequential computation gives: the same values,
// byte for byte, with zeros and without private keys below their threshold.
func TestStreamAndBoundedReleaseTheSame(t *testing.T) {
	const windows = 6
	s := testSettings(t, windows)
	events := someEvents(t, 1, 40, windows-1) // no user in the last window
	for w := range windows - 1 {              // many users, so that a private key passes
		for u := range 450 {
			events = append(events, event{fmt.Sprintf("visitor %d", u), "e", base + int64(w)*hour + int64(u)})
		}
	}
	rejects := []event{{"early", "a", base - 1}, {"late", "a", base + windows*hour}, {"", "a", base},
		{"x", strings.Repeat("k", 513), base}}
	_, want := model(t, s, events)
	private := 0
	for _, r := range want {
		if r.Metric == "all views" {
			private++
		}
	}
	if len(want) < windows*7 || private == 0 {
		t.Fatalf("%d values, %d of private keys: the test shows too little", len(want), private)
	}
	dp := mustTransforms(t, s)
	ptest.BuildAndRun(t, func(scope beam.Scope) {
		all := source(scope, shuffled(append(events, rejects...), 9))
		admitted, rejected := dp.Filter(scope, all)
		passert.Equals(scope, inGlobal(scope, dp.Release(scope, dp.Count(scope, admitted))), anys(want)...)
		passert.Count(scope, rejected, "rejected", len(rejects))
		bounded, _ := dp.FilterBounded(scope, all)
		passert.Equals(scope, inGlobal(scope, dp.Release(scope, dp.Count(scope, bounded))), anys(want)...)
	})
}

// TestBoundedRunsOnBeamsDirectRunner, which has no state and no timers.
func TestBoundedRunsOnBeamsDirectRunner(t *testing.T) {
	s := testSettings(t, 3)
	events := someEvents(t, 2, 30, 3)
	_, want := model(t, s, events)
	dp := mustTransforms(t, s)
	p, scope := beam.NewPipelineWithRoot()
	admitted, _ := dp.FilterBounded(scope, source(scope, events))
	into := &collectFn{t.Name()}
	defer collected.Delete(into.Name)
	beam.ParDo0(scope, into, dp.Release(scope, dp.Count(scope, admitted)))
	if _, err := direct.Execute(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	all, _ := collected.Load(into.Name)
	got, _ := all.(*releases)
	if got == nil || len(want) == 0 {
		t.Fatalf("nothing was released of %d values", len(want))
	}
	for _, values := range [][]Released{got.all, want} {
		slices.SortFunc(values, func(a, b Released) int {
			return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.WindowStart, b.WindowStart),
				cmp.Compare(a.Key, b.Key))
		})
	}
	if !slices.Equal(got.all, want) {
		t.Errorf("%d values were released, want %d: %v\n%v", len(got.all), len(want), got.all, want)
	}
}

// collectFn keeps the values released in this process, by its name.
type collectFn struct{ Name string }

// releases are collected by several goroutines.
type releases struct {
	sync.Mutex
	all []Released
}

var collected sync.Map // *releases by name

func (f *collectFn) ProcessElement(r Released) {
	all, _ := collected.LoadOrStore(f.Name, &releases{})
	into := all.(*releases)
	into.Lock()
	defer into.Unlock()
	into.all = append(into.all, r)
}

func init() { beam.RegisterDoFn(&collectFn{}) }

func init() {
	register.Function2x2(parseEvent)
}

// parseEvent makes an event of a line of a test stream.
func parseEvent(_ beam.EventTime, line string) (string, string) { return line[:1], line[1:] }

// TestWindowsAreDecidedInOrderHoweverTheStreamBringsThem: events of three windows arrive mixed, the
// watermark passes two at once; the account can pay for the first windows only. Events after the
// watermark change nothing.
func TestWindowsAreDecidedInOrderHoweverTheStreamBringsThem(t *testing.T) {
	s := testSettings(t, 4)
	s.Metrics = []Metric{{Name: "views", Kind: metrickind.Events, MaxKeysPerUser: 1, MaxEventsPerKey: 2, Sigma: 12,
		PublicKeys: []string{"a"}}}
	dp := mustTransforms(t, s)
	millisOf := func(w, ms int64) int64 { return base + w*hour + ms }
	onTime := []event{
		{"u", "a", millisOf(2, 5)}, {"u", "a", millisOf(0, 9)}, {"v", "a", millisOf(1, 1)}, {"u", "a", millisOf(1, 3)},
		{"u", "a", millisOf(0, 2)}, {"u", "a", millisOf(1, 4)},
		{"v", "a", millisOf(3, 0)}, {"u", "a", millisOf(3, 1)}, {"w", "a", millisOf(3, 2)},
	}
	counts, want := model(t, s, onTime)
	var sum int64
	for _, n := range counts {
		sum += n
	}
	if int(sum) >= len(onTime) {
		t.Fatal("every user could pay: the test shows too little")
	}
	stream := teststream.NewConfig()
	add := func(events ...event) {
		for _, e := range events {
			if err := stream.AddElements(mtime.FromMilliseconds(e.millis).ToTime().UnixMilli(), e.user+e.key); err !=
				nil {
				t.Fatal(err)
			}
		}
	}
	stream.AdvanceWatermark(base)
	add(onTime[:6]...)
	stream.AdvanceWatermark(base + 2*hour)
	add(event{"w", "a", millisOf(0, 7)}, event{"u", "a", millisOf(1, 8)}) // late
	add(onTime[6:]...)
	stream.AdvanceWatermarkToInfinity()
	ptest.BuildAndRun(t, func(scope beam.Scope) {
		lines := teststream.Create(scope, stream)
		admitted, _ := dp.Filter(scope, beam.ParDo(scope, parseEvent, lines))
		passert.Equals(scope, inGlobal(scope, dp.Release(scope, dp.Count(scope, admitted))), anys(want)...)
	})
}
