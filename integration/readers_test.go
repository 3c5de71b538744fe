package integration

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Runs with several READs, each run with another number of them, that die at points of their
// protocol: what is published is what the sequential reference says, for deployments that are
// drawn at random, and byte for byte what one READ publishes.
func TestInvariant5SeveralReadersEqualTheReference(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	points := []string{
		crashpoint.ReaderWriting, crashpoint.ReaderWritten, crashpoint.PassedWriting, crashpoint.PassedWritten,
		crashpoint.EpochWritten, crashpoint.CloseWriting, crashpoint.CloseWritten, crashpoint.DeltaWritten,
		crashpoint.SettledWriting,
	}
	for seed := range uint64(pick(2, onReal(t, 3, 12))) {
		random := rand.New(runseed.PCG(t, seed, 0x4ead))
		partitions := 2 + random.IntN(5)
		w := calm(seed)
		w.Disturb = 4 * time.Second // within the lateness: none is too late, whatever is read first
		drawn := seed%2 == 1
		layout := sharded(1+random.IntN(20), 1+random.IntN(3))
		d := newDeployment(t, broker, fmt.Sprintf("readers%d", seed), partitions, layout, tight)
		if drawn {
			w.Disturb, w.Broken, w.Late, w.Past, w.Future = mostlyInTime(random, d.config), 8, 8, 4, 4
		}
		dealt := scatter(w.arrivals(), partitions, seed)
		d.load(dealt)
		for run := range pick(4, 8) {
			j := d.job()
			j.Readers = 2 + random.IntN(partitions-1)
			j.CrashAt, j.Skip = points[random.IntN(len(points))], random.IntN(3)
			if run%2 == 0 { // closed turns are read again
				j.CrashAt, j.CrashTurn, j.Skip = crashpoint.SettledWritten, uint64(1+run), 0
			}
			startRunner(t, j).last(t) // it may be through before it comes to the point
			if err := d.chargeable(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		d.finish(func(j *job) { j.Readers = 1 + random.IntN(partitions) })
		if err := d.check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if !drawn {
			alone := newDeployment(t, broker, fmt.Sprintf("alone%d", seed), partitions, layout, tight)
			alone.load(dealt)
			alone.finish(func(j *job) { j.Readers = 1 })
			sameReleases(t, alone, d)
		}
	}
}

// Events come in while several READs are at work, in partitions of which some run ahead and some
// are silent for a while.
func TestInvariant6SeveralReadersOfLiveEvents(t *testing.T) {
	broker := startBroker(t)
	for seed := range uint64(pick(1, onReal(t, 2, 6))) {
		random := rand.New(runseed.PCG(t, seed, 0x11fe))
		const partitions = 5
		d := newDeployment(t, broker, fmt.Sprintf("livereaders%d", seed), partitions, tight)
		w := calm(70 + seed)
		w.Disturb, w.Broken, w.Late, w.Past, w.Future = 4*time.Second, 5, 5, 3, 3
		dealt := scatter(w.arrivals(), partitions, seed)
		for p := range dealt { // one record after all others closes the last windows
			dealt[p] = append(dealt[p], at("closer", "p00", 130*time.Second))
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			random := rand.New(runseed.PCG(t, seed, 0x5e4d))
			for left := partitions; left > 0; {
				p := random.IntN(partitions)
				n := min(len(dealt[p]), 1+random.IntN(60))
				if n == 0 {
					continue
				}
				d.append(int32(p), dealt[p][:n])
				if dealt[p] = dealt[p][n:]; len(dealt[p]) == 0 {
					left--
				}
				time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
			}
		}()
		slowly := func(point string, _ int) error {
			if point == crashpoint.CloseWriting { // what comes meanwhile is in no CLOSE yet
				time.Sleep(30 * time.Millisecond)
			}
			return nil
		}
		for range pick(3, 5) { // two turns each, fewer than there are in all
			d.runTurns(2, func(o *runOptions) {
				o.Bounded, o.Readers, o.Hooks.At = false, 2+random.IntN(partitions), slowly
			})
		}
		<-sent
		d.finish(func(j *job) { j.Readers = 3 })
		if err := d.check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// A record that comes after its group has said that the turn is passed, and before the CLOSE, is
// overtaken: the CLOSE says what was said.
func TestRuleRecordsAfterAPassedAreOvertaken(t *testing.T) {
	d := newDeployment(t, startBroker(t), "passed", 2, func(c *pipeline.Config) {
		// The idle rule passes ten turns, few enough that the partition is read on meanwhile.
		c.Time.IdleGrace = time.Second
		c.Time.Skew = min(366*24*time.Hour, (time.Since(base.Add(100*time.Second)) - c.Time.Lateness -
			c.Time.IdleGrace).Truncate(time.Millisecond))
	})
	d.clocked = true
	d.append(0, calm(33).arrivals())
	d.append(0, []arrival{at("closer", "p00", 130*time.Second)})
	drain := make(chan struct{})
	var once sync.Once
	d.run(func(o *runOptions) {
		o.Bounded, o.Readers, o.Drain = false, 2, drain
		o.Hooks.At = func(point string, _ int) error {
			if point == crashpoint.CloseWriting {
				once.Do(func() { // what the reader of the silent partition has said is in it
					d.append(1, calm(34).arrivals())
					time.Sleep(500 * time.Millisecond) // it reads
				})
			}
			return nil
		}
		o.OnSettled = func(s pipeline.Settlement) {
			if s.Turn == 6 {
				close(drain)
			}
		}
	})
	d.run(func(o *runOptions) { o.Readers = 2 })
	d.verify()
	if d.report().Overtaken == 0 {
		t.Error("no record was overtaken")
	}
}

// A stamp that was ahead of the clock of the process that read it first stays so for every later
// one, of whichever group of partitions: else it would be the time of its partition from then on.
func TestRuleStampsAheadOfTheClockAreSoForEveryLaterReader(t *testing.T) {
	t.Parallel()
	broker := startBroker(t)
	for ahead := 1500 * time.Millisecond; ; ahead *= 2 { // a slow machine has not read it in time
		d := newDeployment(t, broker, fmt.Sprintf("ahead%d", ahead.Milliseconds()), 2, tight, func(c *pipeline.Config) {
			c.Time.Skew = time.Second
		})
		w := calm(36)
		w.Windows = 40
		dealt := scatter(w.arrivals(), 2, 36)
		began := time.Now()
		stamp := began.Add(d.config.Time.Skew + ahead).UnixMilli()
		for p, arrivals := range dealt {
			half := len(arrivals) / 2
			d.append(int32(p), arrivals[:half])
			d.append(int32(p), []arrival{goodEvent("early", "p00", stamp, base.Add(15*time.Second).UnixMilli())})
			d.append(int32(p), arrivals[half:])
		}
		d.runTurns(17, func(o *runOptions) { o.Readers = 2 })
		tr := must.Have(d.readTrusted())
		known := 0
		for _, cut := range tr.Closes[tr.Last].Cuts {
			known += len(cut.Ahead)
		}
		// On a real broker one of them may stand before what the next run reads again.
		if want := onReal(t, 1, 2); known < want {
			if ahead < 20*time.Second {
				continue
			}
			t.Fatalf("%d stamps were ahead of the clock, of those that the next run may read again: want %d", known,
				want)
		}
		time.Sleep(time.Until(began.Add(ahead + 100*time.Millisecond))) // from now on it would not be ahead
		d.run(func(o *runOptions) { o.Readers = 1 })
		d.verify()
		return
	}
}

// Readers pass a certain number of turns at once, and have read records of later ones by then.
// These are read again where another run begins after exactly those turns; and what was read is in
// one tally, though the turns are in several CLOSEs.
func TestInvariant5ARunBeginsAfterTheLastTurnThatReadersHavePassed(t *testing.T) {
	t.Parallel()
	broker := startBroker(t)
	for _, turns := range []int{31, 32, 33}[pick(1, 0):pick(2, 3)] {
		d := newDeployment(t, broker, fmt.Sprintf("after%d", turns), 3, tight)
		w := calm(38)
		w.Windows = 40
		d.load(scatter(w.arrivals(), 3, 38))
		d.runTurns(turns, func(o *runOptions) { o.Readers = 3 })
		d.run(func(o *runOptions) { o.Readers = 2 })
		d.verify()
	}
}
