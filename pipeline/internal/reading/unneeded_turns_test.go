package reading

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

// feeder is READ without a broker: turn n of its one partition has the events since second n.
type feeder struct {
	*Source
	t      *testing.T
	offset int64
}

func newFeeder(t *testing.T, opts Options) *feeder {
	t.Helper()
	const shards = 16
	hasher := schemas.NewHasher([32]byte{3})
	s := &Source{
		classifier: *testFates(t, timeRules{acceptFuture: true}), opts: opts, hasher: hasher,
		dep:   &deployment.Deployment{Metrics: make([]deployment.CompiledMetric, 1)},
		users: packing.NewUsers(hasher, shards, 64<<20), spare: packing.NewPool(shards),
	}
	s.session = session{partitions: []*partition{newPartition()}, buffers: map[uint64]*packing.Buffer{},
		tallies: newTallies()}
	if !opts.Bounded && !opts.Until.IsZero() {
		s.owed = s.classifier.turns.LastEndedBy(opts.Until.UnixMilli())
	}
	if !opts.Until.IsZero() {
		s.fixLastTurn()
	}
	s.needed = s.lastNeeded()
	return &feeder{Source: s, t: t}
}

func (f *feeder) add(user string, turn int64) {
	f.t.Helper()
	value := fmt.Appendf(nil, `{"user":%q,"key":"k","time":%d}`, user, 1000*turn)
	p := f.partitions[0]
	if err := f.readRecord(p, &kafkalog.Record{Offset: f.offset, Timestamp: 1000, Value: value}, 0); err != nil {
		f.t.Fatal(err)
	}
	f.offset++
	p.next = f.offset
}

// Events of the far future that nothing refuses take memory for themselves alone: not as much as
// the turns of the present need, and not what those turns have given back and will use again.
func TestRuleATurnOfTheFarFutureTakesMemoryForItsOwnEventsOnly(t *testing.T) {
	const turns, users, far, eachFar = 8, 10_000, 200, 5
	f := newFeeder(t, Options{})
	present := func(first int64) {
		for i := range int64(turns * users) {
			f.add(fmt.Sprint("user-", i/turns), first+i%turns)
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	present(1)
	for turn, b := range f.buffers { // as if they had been opened
		delete(f.buffers, turn)
		f.spare.Put(b)
	}
	before := heap()
	for i := range far * eachFar {
		f.add(fmt.Sprint("user-", i%eachFar), int64(1000+i/eachFar))
	}
	present(1 + turns)
	if taken := heap() - before; taken > far*eachFar*2048 {
		t.Errorf("%d events in %d turns of the far future take %d bytes", far*eachFar, far, taken)
	}
	runtime.KeepAlive(f)
}

// A run that ends at a turn keeps only the positions of events in later turns that it cannot close:
// the next run reads them from there.
func TestRuleARunWithAnEndKeepsNothingOfTheTurnsAfterIt(t *testing.T) {
	const end = 10
	until := time.UnixMilli(1000 + 1000*end) // where the turn ends
	for name, opts := range map[string]Options{
		"bounded, until a time": {Bounded: true, Until: until},
		"until a time":          {Until: until},
		"until the end":         {UntilEnd: true, Ends: map[int32]int64{0: end}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeeder(t, opts)
			for turn := range int64(end) {
				f.add("u", turn+1)
			}
			f.needed = f.lastNeeded() // as the next poll does
			for i := range int64(1000) {
				f.add("u", 100+1000*i)
			}
			if len(f.buffers) != end || f.buffered != end {
				t.Errorf("%d events of %d turns are kept, want those of %d", f.buffered, len(f.buffers), end)
			}
			if c := f.closeOf(end); c.Contributions != 1 || c.Cuts[0].Restart != end || c.Cuts[0].Cut != f.offset {
				t.Errorf("the last CLOSE has %d contributions, want 1, and a later run reads from offset %d on, "+
					"want %d", c.Contributions, c.Cuts[0].Restart, end)
			}
			if got, want := f.lastBuffered(), uint64(100+999*1000); got != want {
				t.Errorf("the last turn that has an event is %d, want %d", got, want)
			}
			if f.tallies.Accepted != end+1000 {
				t.Errorf("%d events were accepted, want all %d", f.tallies.Accepted, end+1000)
			}
		})
	}
}

// A run with an end closes no turn after the last one that it owes, even if the clock has passed
// many more, which belong to the next batch. It still reads turns that another run has closed.
func TestRuleARunWithAnEndClosesNoTurnAfterIt(t *testing.T) {
	const end = 10
	for name, opts := range map[string]Options{
		"until a time":  {Until: time.UnixMilli(1000 + 1000*end)},
		"until the end": {UntilEnd: true, Ends: map[int32]int64{0: end}},
	} {
		f := newFeeder(t, opts)
		for turn := range int64(end) {
			f.add("u", turn+1)
		}
		for turn := range int64(200) {
			f.add("u", end+1+turn)
		}
		f.partitions[0].idleUntil = calendar.Forever // all turns have passed
		if closed := f.lastClosable(0); closed != end {
			t.Errorf("%s: turns up to %d are closed, want %d", name, closed, end)
		}
		f.closed = end + 3
		if got := f.lastNeeded(); got != end+3 {
			t.Errorf("%s: turns up to %d are kept, want those that another run has closed", name, got)
		}
	}
}

// Records that count for nothing can pass any number of turns: a run until the end reads on, since
// no turn is closed before another event is found.
func TestRuleARunUntilTheEndReadsOnPastRecordsOfNoTurn(t *testing.T) {
	f := newFeeder(t, Options{UntilEnd: true, Ends: map[int32]int64{0: 100}})
	p := f.partitions[0]
	p.next, p.appendTime = 50, 1e9
	if !f.shouldRead(p, 0) {
		t.Error("a partition that is not at its end is not read, and no turn is owed")
	}
	p.appendTime = 0
	f.add("u", 500)
	if p.next, p.appendTime = 51, 1e9; f.shouldRead(p, 0) {
		t.Error("turns are owed and pass, and reading runs ahead without limit")
	}
}

// Without an end, and where other readers may owe more, every turn may be needed.
func TestARunWithoutAnEndMayNeedEveryTurn(t *testing.T) {
	for name, opts := range map[string]Options{
		"without end":              {},
		"bounded by what is there": {Bounded: true, Ends: map[int32]int64{0: 3}},
		"until the end, before it": {UntilEnd: true, Ends: map[int32]int64{0: 3}},
		"one of several readers":   {UntilEnd: true, Group: 1, Groups: 2},
	} {
		if got := newFeeder(t, opts).lastNeeded(); got != allTurns {
			t.Errorf("%s: turns up to %d may be needed, want all", name, got)
		}
	}
}
