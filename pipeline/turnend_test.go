package pipeline

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// tenTurns deploys a configuration over ten turns of a second.
func tenTurns(t testing.TB, change func(*deployment.Config)) *deployment.Deployment {
	t.Helper()
	return tenTurnsFrom(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), change)
}

func tenTurnsFrom(t testing.TB, start time.Time, change func(*deployment.Config)) *deployment.Deployment {
	t.Helper()
	cfg := deploytest.Config(deploytest.Start(t).Addr())
	cfg.Metrics[0].Window, cfg.ReleaseShards = time.Second, 2
	change(&cfg)
	d := deploy(t, cfg, start, 1)
	appendEvents(t, cfg.Kafka.Brokers[0], eventsEvery(100*time.Millisecond, start, 100)...)
	return d
}

// gridClock advances only in waits and in work. Between a wait and its write nothing moves it, so
// every write has an exact time.
type gridClock struct {
	writing chan struct{} // has an element from a wait to its write

	mu  sync.Mutex
	now time.Time
}

func (c *gridClock) present() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *gridClock) move(to func(time.Time) time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = to(c.now)
}

// At implements crashpoint.Clock.
func (c *gridClock) At(next func(time.Time) time.Time) <-chan time.Time {
	c.writing <- struct{}{}
	c.move(next)
	over := make(chan time.Time, 1)
	over <- c.present()
	return over
}

// work takes a time.
func (c *gridClock) work(d time.Duration) {
	c.writing <- struct{}{}
	c.move(func(now time.Time) time.Time { return now.Add(d) })
	<-c.writing
}

// written returns the time of a write, and false if no wait preceded it.
func (c *gridClock) written() (written time.Time, waited bool) {
	written = c.present()
	select {
	case <-c.writing:
		return written, true
	default:
		return written, false
	}
}

// However long the work on a turn takes, its values appear at the next instant of the grid, and its
// end at one of the finer grid of ends: no moment reveals the duration of the work.
func TestRuleCountsAppearOnAGridOfTime(t *testing.T) {
	t.Parallel()
	const every, ofEnds = 400 * time.Millisecond, 25 * time.Millisecond
	d := tenTurns(t, func(c *deployment.Config) { c.Outputs.PublishEvery = every })
	clock := &gridClock{writing: make(chan struct{}, 1), now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	var ready atomic.Int64 // before the values of a turn wait
	var counts, ends atomic.Int32
	hooks := crashpoint.Hooks{Clock: clock, At: func(point string, _ int) error {
		switch point {
		case crashpoint.DeltaWriting:
			clock.work(time.Duration(61*(counts.Load()+1)) * time.Millisecond)
			ready.Store(clock.present().UnixNano())
		case crashpoint.CountsWriting:
			n := counts.Add(1)
			end, waited := clock.written()
			if from := time.Unix(0, ready.Load()).UTC(); !waited || end.UnixNano()%int64(every) != 0 ||
				end.Sub(from) > every+2*ofEnds {
				t.Errorf("write %d, ready at %v, appears at %v", n, from, end)
			}
		case crashpoint.SettledWriting:
			clock.work(7 * time.Millisecond)
		case crashpoint.EndWriting:
			if end, waited := clock.written(); !waited || end.UnixNano()%int64(ofEnds) != 0 {
				t.Errorf("ends appear at %v", end)
			}
			ends.Add(1)
		}
		return nil
	}}
	_, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true})
	must.Succeed(t, err)
	if counts.Load() != 20 || ends.Load() == 0 { // for two shards; several ends may be written at once
		t.Errorf("%d times values and %d times ends appear, want 20 and some", counts.Load(), ends.Load())
	}
}

// The end of every turn is published with the positions of its values, even of a turn without
// values, and no value of it is anywhere else. Only counts are on counts.
func TestRuleTheTurnsTopicTellsWhereTheValuesOfATurnEnd(t *testing.T) {
	t.Parallel()
	endsOnTheTurnsTopic(t, tenTurns(t, func(*deployment.Config) {}), 30)
	endsOnTheTurnsTopic(t, tenTurns(t, func(c *deployment.Config) {
		c.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
	}), 0)
}

// Windows that end in 1970 and before are windows like others: their values and
// ends have that time, not the time of writing.
func TestRuleWindowsOfAnyTimeAreCounted(t *testing.T) {
	t.Parallel()
	d := tenTurnsFrom(t, time.UnixMilli(-5000), func(*deployment.Config) {})
	endsOnTheTurnsTopic(t, d, 30)
	report, err := TrustedReport(t.Context(), d)
	if err != nil || report.Accepted != 100 {
		t.Errorf("tallies %+v, %v", report, err)
	}
}

// toldEnds returns the ends on the turns topic.
func toldEnds(t *testing.T, d *deployment.Deployment) []schemas.TurnEnd {
	t.Helper()
	var ends []schemas.TurnEnd
	eachRecord(t, d, d.Config.Outputs.Turns, 0, func(r kafkalog.Record) {
		e, err := schemas.DecodeTurnEnd(r.Value)
		if err != nil || r.Timestamp != e.End || string(r.Key) != string(schemas.TurnEndKey()) {
			t.Errorf("offset %d of the turns topic: %s, %s at %d (%v)", r.Offset, r.Key, r.Value, r.Timestamp, err)
		}
		ends = append(ends, e)
	})
	return ends
}

func eachRecord(t *testing.T, d *deployment.Deployment, topic string, partition int32, fn func(kafkalog.Record)) {
	t.Helper()
	client := dial(t, d)
	bounds, err := client.Offsets(t.Context(), topic, partition)
	if err == nil {
		err = client.ReadRange(t.Context(), topic, partition, bounds.Start, bounds.High, func(r kafkalog.Record) error {
			fn(r)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// endsOnTheTurnsTopic runs a deployment of tenTurns, which publishes so many values.
func endsOnTheTurnsTopic(t *testing.T, d *deployment.Deployment, want int) {
	t.Helper()
	ran(t, d)
	ends := toldEnds(t, d)
	if len(ends) != 10 {
		t.Fatalf("%d ends were told, want 10", len(ends))
	}
	for i, e := range ends {
		if e.Turn != uint64(i+1) || e.Generation != 1 || e.Counts != d.Config.Outputs.Counts || len(e.CountsEnd) != 2 {
			t.Errorf("end %d: %+v", i, e)
		}
	}
	values := 0
	for shard := range int32(2) {
		eachRecord(t, d, d.Config.Outputs.Counts, shard, func(r kafkalog.Record) {
			rel, err := schemas.DecodeRelease(r.Value)
			if err != nil {
				t.Fatalf("offset %d of counts is no count: %v", r.Offset, err)
			}
			values++
			if r.Timestamp != rel.WindowEnd {
				t.Errorf("a value of a window that ends at %d has the time %d", rel.WindowEnd, r.Timestamp)
			}
			after, before := ends[rel.Turn-1].CountsEnd[shard], int64(0)
			if rel.Turn > 1 {
				before = ends[rel.Turn-2].CountsEnd[shard]
			}
			if r.Offset < before || r.Offset >= after || rel.WindowEnd != ends[rel.Turn-1].End {
				t.Errorf("a value of turn %d stands at offset %d of %d, not from %d on before %d", rel.Turn, r.Offset,
					shard, before, after)
			}
		})
	}
	if values != want {
		t.Errorf("%d values, want %d", values, want)
	}
	eachRecord(t, d, d.Config.Outputs.Control, 0, func(r kafkalog.Record) {
		control := must.Have(schemas.DecodeControl(r.Value))
		if c, is := control.Body.(*schemas.Close); is && c.Turn <= 10 && c.Contributions != 10 {
			t.Errorf("turn %d has %d events, want 10", c.Turn, c.Contributions)
		}
	})
}

// If no private key has passed, only the end of the turn shows it. The end is published once the
// turn is settled, which no later start revokes.
func TestRuleTheEndOfATurnIsToldOnceItIsSettled(t *testing.T) {
	t.Parallel()
	d, next := bounded(t, func(c *deployment.Config) {
		c.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
	})
	diesBeforeSettling(t, d, 3)
	if ends := toldEnds(t, d); len(ends) > 2 || len(ends) > 0 && ends[len(ends)-1].Turn > 2 {
		t.Errorf("told before it is settled: %+v", ends)
	}
	appendRecord(t, d, d.Config.Outputs.Ledger, kafkalog.Message{Key: []byte("delta/3/0"),
		Value: []byte("another program's")})
	// Nothing of turn 3 was published, so a change may precede it.
	if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); err != nil {
		t.Error(err)
	}
	ran(t, mustCompile(t, next))
	last := uint64(0)
	for _, e := range toldEnds(t, d) {
		if e.Turn < last || e.Turn > last+1 && e.Turn > 3 { // the run that died may not have written its last end
			t.Errorf("the end of turn %d comes after that of %d", e.Turn, last)
		}
		last = e.Turn
	}
	if last != 10 {
		t.Errorf("the last end is that of turn %d, want 10", last)
	}
}

// A run that dies after it has settled a turn leaves its end to the next one.
func TestTheEndOfASettledTurnIsToldByTheNextRun(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		if point == crashpoint.SettledWritten {
			return errors.New("died")
		}
		return nil
	}}
	for range 2 {
		if _, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true}); err == nil {
			t.Fatal("the run did not die")
		}
	}
	if ends := toldEnds(t, d); len(ends) != 1 || ends[0].Turn != 1 {
		t.Errorf("after two deaths, at turns 1 and 2: %+v", ends)
	}
	ran(t, d)
	var turns []uint64
	for _, e := range toldEnds(t, d) {
		turns = append(turns, e.Turn)
	}
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(turns, want) {
		t.Errorf("ends of %v, want %v", turns, want)
	}
}

// A SETTLED of a superseded run is ignored, though it is on control: its successor publishes the
// end of the turn.
func TestRuleASupersededRunTellsNoEnd(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	settling := 0
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		if point == crashpoint.SettledWriting {
			if settling++; settling == 3 {
				run := appendControl(t, d, &schemas.Run{ID: [16]byte{9}})[0]
				appendControl(t, d, &schemas.Epoch{Run: run})
			}
		}
		return nil
	}}
	result, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true})
	if err != nil || !result.Superseded || settling < 3 {
		t.Fatalf("%+v, %v after %d", result, err, settling)
	}
	if ends := toldEnds(t, d); len(ends) != 2 {
		t.Errorf("%d ends are told, want those of two turns: %+v", len(ends), ends)
	}
	ran(t, d)
	if ends := toldEnds(t, d); ends[len(ends)-1].Turn != 10 || ends[2].Turn != 2 {
		t.Errorf("after the next run: %+v", ends)
	}
}
