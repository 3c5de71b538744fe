package protected

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// tabulated returns what making the tables allocates and how long it takes, of so many events: each
// individual has one with each of so many keys.
func tabulated(t testing.TB, events, keys int) (bytes uint64, took time.Duration) {
	t.Helper()
	c := choice(t, Options{Window: time.Second, Budget: budget(t, .5), Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{1})}}, nil)
	for i := range events {
		user, key := binary.AppendUvarint(nil, uint64(i/keys)), binary.AppendUvarint([]byte("key"), uint64(i%keys))
		if err := c.Add(user, key, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	if _, err := c.tables(); err != nil {
		t.Fatal(err)
	}
	took = time.Since(began)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took
}

// One individual takes no more memory than the users of as many events, however many keys it has,
// and what is remembered of it is bounded; where it is left out for that, it is in no table, in
// whatever order its records come (TestRuleAChoiceCostsAnIndividualWhatIsPlanned).
func TestRuleOneIndividualTakesNoMoreOfAChoiceThanOthers(t *testing.T) {
	const events = 1 << 18
	usual, _ := tabulated(t, events, 10)
	for _, keys := range []int{events / 5, events} {
		if one, _ := tabulated(t, events, keys); one > usual+usual/10 {
			t.Errorf("individuals of %d keys take %d bytes, of 10 keys %d", keys, one, usual)
		}
	}
	did := &done{cells: map[cell]uint64{}, values: map[int]uint64{}}
	for w := range int64(events) {
		if did.add(cell{window: w}, 0, mostCells); len(did.cells) > 1<<16 {
			t.Fatalf("%d cells are remembered", len(did.cells))
		}
	}
	if !did.over || did.cells != nil || did.values != nil {
		t.Errorf("%d cells and %d values are remembered of an individual that is not counted", len(did.cells), len(did.values))
	}
}

// A million events: of 100,000 users with ten keys each, of 20 with as many as are remembered, and
// of one with a million.
func BenchmarkTables(b *testing.B) {
	const events = 1_000_000
	for name, keys := range map[string]int{"usual": 10, "most": 50_000, "one": events} {
		b.Run(name, func(b *testing.B) {
			var bytes uint64
			var took time.Duration
			for b.Loop() {
				n, d := tabulated(b, events, keys)
				bytes, took = bytes+n, took+d
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/table")
			b.ReportMetric(float64(bytes)/float64(b.N)/1e6, "MB/table")
		})
	}
}
