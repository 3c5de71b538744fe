package reading

import (
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/schemas"
)

// silence is a partition that is read to its end after every record, one second of the clock at a
// time. Lateness is 10 s, skew 20 s, grace 30 s.
type silence struct {
	t *testing.T
	s *Source
	f *classifier
	p *partition
	// now is this machine's clock, offset the next record's.
	now, offset int64
}

func newSilence(t *testing.T, trust string) *silence {
	t.Helper()
	config := deployment.Config{Time: deployment.Time{Trust: trust, Lateness: 10 * time.Second, Skew: 20 * time.Second,
		IdleGrace: 30 * time.Second}}
	d := &deployment.Deployment{Config: config, Metrics: make([]deployment.CompiledMetric, 1)}
	s := &silence{t: t, s: &Source{dep: d}, f: testFates(t, timeRulesOf(d)), p: newPartition(), now: 1e9}
	s.p.silentSince = s.now
	return s
}

// record reads a record with a stamp that is behind the clock.
func (s *silence) record(behind time.Duration) {
	s.t.Helper()
	stamp := s.now - behind.Milliseconds()
	judgeOne(s.t, s.f, s.p, s.offset, stamp, stamp, s.now)
	s.offset++
}

// look reads to the end every second for a while, and returns how far the partition's watermark is
// behind the clock then; −1 if the watermark is not by the idle rule.
func (s *silence) look(after time.Duration) time.Duration {
	s.p.next = s.offset
	for range after / time.Second {
		s.now += 1000
		s.s.applyIdleRule(s.p, &kafkalog.Fetched{RequestedAt: s.now, High: s.offset, LastStable: s.offset})
	}
	if s.p.idleUntil == calendar.Never {
		return -1
	}
	return time.Duration(s.now-s.p.watermark(schemas.MetricSpec{Lateness: 10_000})) * time.Millisecond
}

// With producers' times the clock closes windows only for a partition without records for the
// grace, however far behind the clock its records are. It is set back by their lag, up to a day.
func TestRuleTheClockStandsInForASilentPartitionOnly(t *testing.T) {
	const standsIn = 60 * time.Second // lateness, skew and grace
	for _, behind := range []time.Duration{0, 10 * time.Minute, 10 * time.Hour, 10 * 24 * time.Hour} {
		s := newSilence(t, deployment.TrustProducer)
		for range 200 {
			s.record(behind)
			if got := s.look(29 * time.Second); got >= 0 {
				t.Fatalf("%v behind the clock: a partition that has a record every 29 s is passed by the clock", behind)
			}
		}
		want := standsIn
		if behind < maxLag {
			want += behind
		}
		if got := s.look(time.Minute); got != want {
			t.Errorf("%v behind the clock: after the grace the watermark is %v behind the clock, want %v", behind, got,
				want)
		}
		s.record(behind) // it goes on, and its records are waited for again
		if got := s.look(time.Second); got >= 0 {
			t.Errorf("%v behind the clock: the clock still stands in for a partition that has gone on", behind)
		}
	}
}

// A record that is before the watermark of its partition holds nothing back: neither does a device
// with a slow clock, nor a record that is ahead of this machine's clock.
func TestRuleARecordOutOfItsTimeHoldsNothingBack(t *testing.T) {
	for name, behind := range map[string]time.Duration{"slow clock": time.Hour, "fast clock": -time.Hour} {
		s := newSilence(t, deployment.TrustProducer)
		s.record(0)
		s.look(25 * time.Second)
		s.record(behind)
		if got := s.look(5 * time.Second); got < 0 {
			t.Errorf("%s: the record holds the partition's windows back", name)
		}
	}
}

// While its broker is away, no producer can write to a partition: it is not silent then, and its
// producers have the grace to go on once the broker is back.
func TestRuleAnOutageIsNoSilence(t *testing.T) {
	s := newSilence(t, deployment.TrustProducer)
	s.record(time.Hour)
	s.look(time.Second)
	s.now += time.Hour.Milliseconds()
	if got := s.look(29 * time.Second); got >= 0 {
		t.Error("the clock stands in for a partition whose broker has just come back")
	}
	if got := s.look(3 * time.Second); got < 0 {
		t.Error("the clock does not stand in for a partition that stays silent")
	}
	// A long outage delays a turn, so that the run takes a new epoch before a fetch gets a
	// response.
	cut := s.p.cut(nil)
	s.now += time.Hour.Milliseconds()
	s.p = s.s.newPartition(s.p.id, s.now)
	s.p.restore(&cut, s.now)
	if got := s.look(29 * time.Second); got >= 0 {
		t.Error("after a new epoch, the clock stands in for a partition whose broker has just come back")
	}
	if got := s.look(3 * time.Second); got < 0 {
		t.Error("after a new epoch, the clock does not stand in for a partition that stays silent")
	}
}

// A partition is silent after a restart if it was silent before and has no record since. If that is
// unknown, its silence begins with the restart.
func TestRuleASilenceOutlivesARestart(t *testing.T) {
	for idle, silent := range map[bool]time.Duration{true: 31 * time.Second, false: time.Second} {
		s := newSilence(t, deployment.TrustProducer)
		s.record(time.Hour)
		s.record(time.Hour)
		s.look(silent)
		cut := s.p.cut(nil) // as a CLOSE has it
		s.p = newPartition()
		s.p.restore(&cut, s.now)
		if got := s.look(time.Second); (got >= 0) != idle {
			t.Errorf("the last CLOSE says idle: %v; the watermark is %v behind the clock", idle, got)
		}
		s.offset = 0 // repeated records are not news
		s.record(time.Hour)
		s.record(time.Hour)
		if got := s.look(time.Second); (got >= 0) != idle {
			t.Errorf("the last CLOSE says idle: %v, and its records are read again; the watermark is %v "+
				"behind the clock", idle, got)
		}
		s.record(time.Hour)
		if got := s.look(time.Second); got >= 0 {
			t.Error("the clock stands in for a partition that has gone on")
		}
	}
}

// The newest of several CLOSEs decides after a restart whether a partition is silent: it is not if
// it has advanced since an older CLOSE.
func TestRuleTheNewestCloseSaysWhetherAPartitionIsSilent(t *testing.T) {
	for _, idle := range []bool{true, false} {
		s := newSilence(t, deployment.TrustProducer)
		s.record(time.Hour)
		s.record(time.Hour)
		s.p.silenceEnded = false
		s.p.restore(&schemas.Cut{Cut: 1, Idle: !idle}, s.now)
		s.p.restore(&schemas.Cut{Cut: 2, Idle: idle}, s.now)
		if got := s.look(time.Second); (got >= 0) != idle {
			t.Errorf("the newest CLOSE says idle: %v, the one before it the opposite; the watermark is %v "+
				"behind the clock", idle, got)
		}
	}
}

// Append times are the broker's clock: no later record can have an earlier one by more than the
// skew, whether the partition is silent or not. One person's records decide nothing here.
func TestRuleAppendTimesNeedNoSilence(t *testing.T) {
	s := newSilence(t, deployment.TrustBroker)
	s.record(0)
	if got := s.look(time.Second); got < 0 {
		t.Error("with append times the idle rule waits for silence")
	}
	const standsIn = 60 * time.Second // lateness, skew and grace
	if got := s.look(2 * time.Minute); got != standsIn {
		t.Errorf("with append times the watermark of a silent partition is %v behind the clock, want %v", got, standsIn)
	}
}
