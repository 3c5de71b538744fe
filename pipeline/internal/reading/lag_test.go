package reading

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// streams are three partitions that are read once a second. Lateness is 2 s, skew 1 s, grace 5 s;
// turns are of one second.
type streams struct {
	t    *testing.T
	s    *Source
	now  int64
	lost [watch.DeadLettered + 1]int
	fed  int
}

func newStreams(t *testing.T, trust string) *streams {
	t.Helper()
	config := deployment.Config{Time: deployment.Time{Trust: trust, Lateness: 2 * time.Second, Skew: time.Second,
		IdleGrace: 5 * time.Second}}
	spec := schemas.MetricSpec{Lateness: 2000, Skew: 1000}
	d := &deployment.Deployment{Config: config, Metrics: []deployment.CompiledMetric{{Spec: spec}}}
	w := &streams{t: t, now: 1e9,
		s: &Source{dep: d, classifier: *testFates(t, timeRulesOf(d)), opts: Options{Groups: 1}}}
	for id := range int32(3) {
		p := newPartition()
		p.id, p.silentSince = id, w.now
		w.s.partitions = append(w.s.partitions, p)
	}
	w.s.closed = w.s.classifier.turns.Of(w.now - (2 * time.Hour).Milliseconds())
	w.second(-1, -1, -1)
	return w
}

// second reads what a second has brought: of every partition how far its record is behind the
// clock, −1 for no record.
func (w *streams) second(behind ...time.Duration) {
	w.t.Helper()
	w.now += 1000
	for id, p := range w.s.partitions {
		if behind[id] >= 0 {
			w.fed++
			stamp := w.now - behind[id].Milliseconds()
			v := must.Have(w.s.classifier.classify(p,
				&kafkalog.Record{Offset: p.next, Timestamp: stamp,
					Value: fmt.Appendf(nil, `{"user":"u","key":"k","time":%d}`, stamp)}, w.now))
			if v.Outcome == watch.Accepted && v.turn <= w.s.closed {
				v.Outcome = watch.Overtaken
			}
			w.lost[v.Outcome]++
			p.next++
		}
		w.s.applyIdleRule(p, &kafkalog.Fetched{RequestedAt: w.now, High: p.next, LastStable: p.next})
	}
	for w.s.hasPassed(w.s.closed + 1) {
		w.s.closed++
	}
}

// delay returns by how much the last closed turn is behind the clock.
func (w *streams) delay() time.Duration {
	return time.Duration(w.now-w.s.classifier.turns.End(w.s.closed)) * time.Millisecond
}

// A stream that is behind the clock may pause: none of its records is overtaken, and turns close as
// long after the clock as its records are behind it.
func TestRuleAPartitionThatPausesKeepsItsLag(t *testing.T) {
	const none, hour = time.Duration(-1), time.Hour
	during := func(from, to, second int, then, else_ time.Duration) time.Duration {
		if second >= from && second < to {
			return then
		}
		return else_
	}
	for name, behind := range map[string]func(second int) [3]time.Duration{
		"an hour behind":          func(int) [3]time.Duration { return [3]time.Duration{hour, hour, hour} },
		"one partition is silent": func(int) [3]time.Duration { return [3]time.Duration{hour, none, hour} },
		"different lags":          func(int) [3]time.Duration { return [3]time.Duration{0, hour, hour / 2} },
		"live, all pause": func(i int) [3]time.Duration {
			b := during(30, 50, i, none, 0)
			return [3]time.Duration{b, b, b}
		},
		"one begins later": func(i int) [3]time.Duration {
			return [3]time.Duration{hour, hour, during(0, 30, i, none, hour)}
		},
		"a short pause": func(i int) [3]time.Duration {
			return [3]time.Duration{0, 0, during(30, 37, i, none, hour/120)}
		},
		"an hour behind, one pauses": func(i int) [3]time.Duration {
			return [3]time.Duration{hour, during(30, 50, i, none, hour), hour}
		},
		"an hour behind, all pause": func(i int) [3]time.Duration {
			b := during(30, 50, i, none, hour)
			return [3]time.Duration{b, b, b}
		},
		"in batches": func(i int) [3]time.Duration {
			b := during(0, 1, i%8, hour, none)
			return [3]time.Duration{b, b, b}
		},
		"an hour behind beside live ones": func(i int) [3]time.Duration {
			return [3]time.Duration{0, during(30, 45, i, none, hour), 0}
		},
		"an hour behind, ten minutes' pause": func(i int) [3]time.Duration {
			b := during(30, 630, i, none, hour)
			return [3]time.Duration{b, b, b}
		},
	} {
		w := newStreams(t, deployment.TrustProducer)
		for i := range 800 {
			b := behind(i)
			w.second(b[:]...)
		}
		if lost := w.fed - w.lost[watch.Accepted]; lost > 0 {
			t.Errorf("%s: %d of %d records are lost: %v", name, lost, w.fed, w.lost)
		}
		if got := w.delay(); got > hour+10*time.Second {
			t.Errorf("%s: turns are closed %v after the clock", name, got)
		}
	}
}

// A partition without further records delays others for a limited time: by its lag for a day, or
// for ten graces if it has brought a single record.
func TestRuleALagHoldsOthersUpForABoundedTime(t *testing.T) {
	for records, hold := range map[int]time.Duration{1: 50 * time.Second, 10: 24 * time.Hour} {
		w := newStreams(t, deployment.TrustProducer)
		for range records {
			w.second(0, time.Hour, 0)
		}
		end := w.now + hold.Milliseconds()
		for w.now < end {
			w.second(0, -1, 0)
		}
		if got := w.delay(); got < time.Hour {
			t.Errorf("%d records: turns are closed %v after the clock before the lag is over", records, got)
		}
		w.second(0, -1, 0)
		if got := w.delay(); got > 10*time.Second {
			t.Errorf("%d records: turns are closed %v after the clock when the lag is over", records, got)
		}
	}
}

// A stamp of 1970, of more than a day ago, of the future or ahead of the clock does not change the
// lag, nor does a record that has waited on the topic.
func TestRuleNoStampMovesTheLagWithoutBound(t *testing.T) {
	for name, bad := range map[string]time.Duration{"1970": 1e9 * time.Millisecond, "ten days": 240 * time.Hour,
		"the future": -time.Hour, "the skew": -10 * time.Second} {
		w := newSilence(t, deployment.TrustProducer)
		w.look(time.Second) // the record has not waited on the topic
		w.record(bad)
		if w.look(time.Minute); w.p.lag.millis != 0 {
			t.Errorf("%s: the lag is %d ms", name, w.p.lag.millis)
		}
	}
	w := newSilence(t, deployment.TrustProducer)
	w.look(time.Second)
	w.now += time.Hour.Milliseconds() // the reader was away
	w.record(time.Hour)
	if w.look(time.Minute); w.p.lag.millis != 0 {
		t.Errorf("a record that was written before the reader came back: the lag is %d ms", w.p.lag.millis)
	}
	w.record(time.Hour)
	w.look(time.Second)
	w.record(0)
	if w.look(time.Second); w.p.lag.millis > 1000 {
		t.Errorf("the stream has caught up: the lag is %d ms", w.p.lag.millis)
	}
}

// A lag outlives a restart of the run.
func TestRuleALagOutlivesARestart(t *testing.T) {
	s := newSilence(t, deployment.TrustProducer)
	for range 4 {
		s.record(time.Hour)
		s.look(15 * time.Second)
	}
	before := s.look(5 * time.Minute)
	cut := s.p.cut(nil)
	s.p = newPartition()
	s.p.restore(&cut, s.now)
	if got := s.look(6 * time.Minute); got != before {
		t.Errorf("the watermark is %v behind the clock after a restart, %v before it", got, before)
	}
}

// A restart does not revive a lag that is over.
func TestRuleALagThatIsOverStaysOver(t *testing.T) {
	s := newSilence(t, deployment.TrustProducer)
	for range 4 {
		s.record(23 * time.Hour)
		s.look(15 * time.Second)
	}
	s.look(24 * time.Hour)
	before := s.look(time.Minute)
	cut := s.p.cut(nil)
	s.p = newPartition()
	s.p.restore(&cut, s.now)
	if got := s.look(time.Second); before > time.Hour || got != before {
		t.Errorf("the watermark is %v behind the clock after a day of silence, and %v after a restart", before, got)
	}
}

// Only a lag that records have shown for a grace outlives a restart.
func TestRuleABriefLagEndsWithARestart(t *testing.T) {
	s := newSilence(t, deployment.TrustProducer)
	s.look(time.Second)
	s.record(23 * time.Hour)
	if s.look(time.Second); s.p.lag.millis == 0 || s.p.cut(nil).Lag != 0 {
		t.Errorf("a single record has the lag %d, and a restart has %d", s.p.lag.millis, s.p.cut(nil).Lag)
	}
}

// The first record on the topic gives every partition the grace to bring its own.
func TestRuleEverySilenceBeginsWithTheFirstRecord(t *testing.T) {
	s := newStreams(t, deployment.TrustProducer).s
	var now int64 = 1.7e12
	s.clock = newTrustedTime(time.Second, slog.New(slog.DiscardHandler))
	s.clock.read = func() (int64, int64) { return now, 0 }
	s.noRecords = true
	for _, p := range s.partitions {
		p.next, p.silentSince, p.idleUntil = 0, now-time.Hour.Milliseconds(), now
	}
	if s.awaitFirstRecord(); !s.noRecords || s.hasPassed(s.closed+1) {
		t.Error("windows close before the topic has a record")
	}
	s.partitions[1].next = 1
	s.awaitFirstRecord()
	for _, p := range s.partitions {
		if s.noRecords || p.silentSince != now || p.idleUntil != calendar.Never {
			t.Errorf("partition %d is silent since %d ms before the first record", p.id, now-p.silentSince)
		}
	}
}

// A run that starts in a pause, before any CLOSE has the lag, takes it from the last record of what
// waits on the topic, for ten graces. A run with an end does not.
func TestRuleALagIsTakenFromABacklog(t *testing.T) {
	for _, untilEnd := range []bool{false, true} {
		s := newSilence(t, deployment.TrustProducer)
		s.s.opts.UntilEnd = untilEnd
		s.record(time.Hour)
		s.record(time.Hour)
		const standsIn = 60 * time.Second // lateness, skew and grace
		want := standsIn
		if !untilEnd {
			want += time.Hour
		}
		if got := s.look(4 * time.Minute); got < want || got > want+time.Second {
			t.Errorf("until the end: %v: in the pause the watermark is %v behind the clock, want %v", untilEnd, got,
				want)
		}
		if got := s.look(2 * time.Minute); got != standsIn {
			t.Errorf("until the end: %v: after ten graces the watermark is %v behind the clock, want %v", untilEnd, got,
				standsIn)
		}
	}
}
