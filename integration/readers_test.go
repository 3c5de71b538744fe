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

// Runs with changing numbers of READs die at points of the readers' protocol. They publish the
// counts of the sequential reference, byte for byte as one READ does, for random deployments.
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
		w.Disturb = 4 * time.Second // within the lateness: no record is late, whichever is read first
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
			startRunner(t, j).last(t) // it may end before it reaches the point
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

// Events arrive while several READs work. Some partitions run ahead, others are silent for a while.
func TestInvariant6SeveralReadersOfLiveEvents(t *testing.T) {
	broker := startBroker(t)
	for seed := range uint64(pick(1, onReal(t, 2, 6))) {
		random := rand.New(runseed.PCG(t, seed, 0x11fe))
		const partitions = 5
		d := newDeployment(t, broker, fmt.Sprintf("livereaders%d", seed), partitions, tight)
		w := calm(70 + seed)
		w.Disturb, w.Broken, w.Late, w.Past, w.Future = 4*time.Second, 5, 5, 3, 3
		dealt := scatter(w.arrivals(), partitions, seed)
		for p := range dealt {
			dealt[p] = append(dealt[p], closer())
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
			if point == crashpoint.CloseWriting { // records that arrive meanwhile are in no CLOSE yet
				time.Sleep(30 * time.Millisecond)
			}
			return nil
		}
		for range pick(3, 5) { // fewer turns than there are
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

// A record that arrives after its group's PASSED of the turn, but before the CLOSE, is overtaken:
// the CLOSE repeats the PASSED.
func TestRuleRecordsAfterAPassedAreOvertaken(t *testing.T) {
	d := newDeployment(t, startBroker(t), "passed", 2, func(c *pipeline.Config) {
		// The idle rule passes ten turns, so few that the partition is read further meanwhile.
		c.Time.IdleGrace = time.Second
		c.Time.Skew = min(366*24*time.Hour, (time.Since(base.Add(100*time.Second)) - c.Time.Lateness -
			c.Time.IdleGrace).Truncate(time.Millisecond))
	})
	d.clocked = true
	d.append(0, append(calm(33).arrivals(), closer()))
	var once sync.Once
	twoReaders := func(o *runOptions) { o.Readers = 2 }
	d.run(twoReaders, untilTurn(6), func(o *runOptions) {
		o.Hooks.At = func(point string, _ int) error {
			if point == crashpoint.CloseWriting {
				once.Do(func() { // the CLOSE has the PASSED of the silent partition's reader
					d.append(1, calm(34).arrivals())
					time.Sleep(500 * time.Millisecond) // the reader reads them
				})
			}
			return nil
		}
	})
	d.run(twoReaders)
	d.verify()
	if d.report().Overtaken == 0 {
		t.Error("no record was overtaken")
	}
}

// A stamp that was ahead of the clock when it was first read stays so for every later process and
// in every group of partitions. Otherwise it would set the time of its partition.
func TestRuleStampsAheadOfTheClockAreSoForEveryLaterReader(t *testing.T) {
	t.Parallel()
	broker := startBroker(t)
	for ahead := 1500 * time.Millisecond; ; ahead *= 2 { // again if a slow machine read it too late
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
		// On a real broker one of them may come before the records that the next run reads again.
		if want := onReal(t, 1, 2); known < want {
			if ahead < 20*time.Second {
				continue
			}
			t.Fatalf("of the stamps that the next run may read again, %d were ahead of the clock: want %d", known, want)
		}
		time.Sleep(time.Until(began.Add(ahead + 100*time.Millisecond))) // until it is no longer ahead
		d.run(func(o *runOptions) { o.Readers = 1 })
		d.verify()
		return
	}
}

// Readers pass 32 turns at once, and have then also read records of later turns. If another run
// begins after exactly these turns, it reads those records again, and no record is in two tallies.
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
