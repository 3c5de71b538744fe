package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// A stream whose producers' times are behind the clock by minutes, hours or days is counted whole:
// delayed or replayed, with pauses within idle_grace and without. The reference knows no clock and
// no cut, so that one overtaken record would make a difference.
func TestRuleAStreamBehindTheClockIsCountedWhole(t *testing.T) {
	const lateness, skew, grace = 500 * time.Millisecond, time.Second, 30 * time.Second
	for _, c := range []struct {
		name       string
		behind     time.Duration
		partitions int
		speed      int           // how much faster than the clock the events' times go
		pause      time.Duration // once a second
	}{
		{"minutes", 10 * time.Minute, 1, 1, 0},
		{"hours, with pauses", 10 * time.Hour, 16, 1, 700 * time.Millisecond},
		{"days, replayed", 10 * 24 * time.Hour, 16, 600, 0},
		{"days, replayed with pauses", 10 * 24 * time.Hour, 1, 600, 700 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			window := time.Duration(c.speed) * time.Second
			start := time.Now().Add(-c.behind).Truncate(window)
			d := newDeploymentAt(t, startBroker(t), fmt.Sprintf("delayed-%d-%d", c.behind/time.Minute, c.partitions), c.partitions, start, only(publicMetric("visits", window)), func(p *pipeline.Config) {
				p.Time = pipeline.Time{Trust: pipeline.TrustProducer, Lateness: lateness, Skew: skew, IdleGrace: grace}
			})
			d.adjust = func(r *reference.Config) { r.Start = start.UnixMilli() }
			run := d.live()
			appended := 0
			for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
				if time.Since(began)%time.Second < c.pause {
					continue
				}
				stamp := start.Add(time.Since(began) * time.Duration(c.speed)).UnixMilli()
				for p := range int32(c.partitions) {
					d.append(p, []arrival{goodEvent(fmt.Sprintf("u%d", appended%97), "p00", stamp, stamp)})
					appended++
				}
			}
			run.until(t, 1) // the stream itself closes turns
			run.finish(t)
			d.run() // what the drained run has not closed
			d.verify()
			if r := d.report(); int(r.Accepted) != appended {
				t.Errorf("%d events were written, and %+v became of them", appended, r)
			}
			t.Logf("%v behind the clock, %d partitions: %d events, all accepted", c.behind, c.partitions, appended)
		})
	}
}

// A partition may pause for longer than idle_grace while another one holds the windows open: what
// it brings after its pause is counted. Its stream is further behind the clock than is read ahead.
func TestRuleAPauseLosesNothingOfWindowsThatAreOpen(t *testing.T) {
	t.Parallel()
	const behind, grace, step = time.Hour, 5 * time.Second, 100 * time.Millisecond
	start := time.Now().Add(-behind).Truncate(time.Second)
	d := newDeploymentAt(t, startBroker(t), "paused", 2, start, only(publicMetric("visits", time.Second)), func(p *pipeline.Config) {
		p.Time = pipeline.Time{Trust: pipeline.TrustProducer, Lateness: 500 * time.Millisecond, Skew: time.Second, IdleGrace: grace}
	})
	d.adjust = func(r *reference.Config) { r.Start = start.UnixMilli() }
	run, appended := d.live(func(o *runOptions) { o.Readers = 1 }), 0 // what several have passed is final: docs/limits.md
	for i := range 120 {                                              // the other one moves by a tenth of a window a step, and is never silent
		stamp := start.Add(time.Duration(i) * step).UnixMilli()
		for p := range int32(2) {
			if p == 0 && i > 10 && i < 90 {
				continue
			}
			d.append(p, []arrival{goodEvent(fmt.Sprintf("u%d", appended%97), "p00", stamp, stamp)})
			appended++
		}
		time.Sleep(step)
	}
	run.finish(t)
	d.run()
	d.verify()
	if r := d.report(); int(r.Accepted) != appended {
		t.Errorf("%d events were written, and %+v became of them", appended, r)
	}
}

// With append times, an event is counted if it is behind its append time by no more than the
// lateness, however long its stream has been under way: without pauses and with pauses longer than
// idle_grace.
func TestRuleAStreamBehindAppendTimesIsCountedByItsLateness(t *testing.T) {
	needReal(t)
	const behind, grace = 10 * time.Minute, time.Second
	for _, c := range []struct {
		name       string
		lateness   time.Duration
		partitions int
		pause      time.Duration
	}{
		{"enough", behind + time.Minute, 16, 0},
		{"enough, with pauses", behind + time.Minute, 1, 3 * time.Second},
		{"too little", time.Second, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := appendedAt(t, startBroker(t), fmt.Sprintf("behind-%d-%d", c.partitions, c.lateness/time.Second), c.partitions, time.Now().Add(-behind), func(p *pipeline.Config) {
				p.Time.Lateness, p.Time.Skew, p.Time.IdleGrace = c.lateness, time.Second, grace
			})
			run, written := d.live(), 0
			for range 3 {
				for range 10 {
					for p := range int32(c.partitions) {
						d.append(p, []arrival{goodEvent(fmt.Sprintf("u%d", written%97), "p00", 1, time.Now().Add(-behind).UnixMilli())})
						written++
					}
				}
				time.Sleep(c.pause) // how long the stream is silent is what the case is about
			}
			run.finish(t)
			d.clocked = true
			d.run()
			if err := d.checkAgainst(d.independentLog()); err != nil {
				t.Fatal(err)
			}
			r := d.report()
			want := pipeline.Tallies{Read: uint64(written), Accepted: uint64(written)}
			if c.lateness < behind {
				want.Accepted, want.Late = 0, uint64(written)
			}
			if r.Accepted != want.Accepted || r.Late != want.Late || r.Overtaken != 0 {
				t.Errorf("of %d events %d were accepted, %d late and %d overtaken", written, r.Accepted, r.Late, r.Overtaken)
			}
		})
	}
}
