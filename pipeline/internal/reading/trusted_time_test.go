package reading

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// A wrong clock of this machine closes no window early and makes no record one of the future, and
// the log reports it.
func TestRuleAWrongClockDoesNotDecide(t *testing.T) {
	const noon, second = int64(1.7e12), int64(1000)
	for name, c := range map[string]struct {
		step     time.Duration // step of the clock, from and to in seconds
		from, to int64
		broker   bool          // its append times can be compared
		slower   time.Duration // by how much windows close later at the most
	}{
		"right":                        {0, 0, 0, true, 0},
		"a month ahead at the start":   {30 * 24 * time.Hour, 0, 4, true, 0},
		"a month ahead for 4 s":        {30 * 24 * time.Hour, 20, 24, true, 0},
		"an hour ahead":                {time.Hour, 20, 45, true, 0},
		"an hour behind":               {-time.Hour, 20, 45, true, 0},
		"an hour ahead, no broker":     {time.Hour, 20, 45, false, 0},
		"an hour behind, no broker":    {-time.Hour, 20, 45, false, time.Hour},
		"an hour behind, at the start": {-time.Hour, 0, 45, true, time.Hour},
	} {
		var passed int64
		var out strings.Builder
		clock := newTrustedTime(time.Second, slog.New(slog.NewTextHandler(&out, nil)))
		clock.read = func() (int64, int64) {
			wall := noon + passed
			if passed >= c.from*second && passed < c.to*second {
				wall += c.step.Milliseconds()
			}
			return wall, passed
		}
		for ; passed < 75*second; passed += second {
			if c.broker && passed%(10*second) == 0 {
				clock.setBroker(noon+passed, 100)
			}
			earliest, latest := clock.now()
			clock.report(time.UnixMilli(noon + passed))
			if earliest > noon+passed || earliest < noon+passed-c.slower.Milliseconds() {
				t.Errorf("%s: after %d s windows close by a clock that is %d ms ahead", name, passed/second,
					earliest-noon-passed)
			}
			if latest < noon+passed {
				t.Errorf("%s: after %d s records are of the future by a clock that is %d ms behind", name,
					passed/second, noon+passed-latest)
			}
		}
		if c.step != 0 && strings.Count(out.String(), "\n") != 2 {
			t.Errorf("%s: the log does not say once that the clocks differ, and once that they agree: %s", name,
				out.String())
		}
		if c.step == 0 && out.Len() > 0 {
			t.Errorf("%s: the log says %s", name, out.String())
		}
	}
}

// Fetched records are judged by the trusted clock: a clock that was set closes no window and makes
// no record one of the future until the broker confirms it.
func TestRuleFetchedRecordsAreJudgedByTheTrustedClock(t *testing.T) {
	const noon, hour = int64(1.7e12), int64(3_600_000)
	for _, c := range []struct {
		trust              string
		step, stamp, clock int64 // steps of the clock, of a record's stamp, and of the time that closes windows
	}{
		{deployment.TrustProducer, 0, 0, 0},
		{deployment.TrustProducer, -hour, 0, -hour},
		{deployment.TrustBroker, 0, 0, 0},
		{deployment.TrustBroker, hour, 0, 0},
		{deployment.TrustBroker, hour, hour, hour},
	} {
		w := newStreams(t, c.trust)
		s, p, wall := w.s, w.s.partitions[0], noon
		s.tallies, s.clock = newTallies(), newTrustedTime(time.Second, slog.New(slog.DiscardHandler))
		s.clock.read = func() (int64, int64) { return wall, 0 }
		fetched := &kafkalog.Fetched{AppendTime: c.trust == deployment.TrustBroker, High: 1, LastStable: 1}
		fetch := func(records ...kafkalog.Record) {
			fetched.RequestedAt, fetched.Records = time.Now().UnixMilli(), records
			if err := s.readFetched(p, fetched); err != nil {
				t.Fatal(err)
			}
		}
		p.next, p.fetchedAt = 0, noon
		s.clock.now()
		wall += c.step
		stamp := noon + c.stamp
		fetch(kafkalog.Record{Timestamp: stamp, Value: fmt.Appendf(nil, `{"user":"u","key":"k","time":%d}`, stamp)})
		if s.tallies.Accepted != 1 {
			t.Errorf("%+v: the record does not count: %+v", c, s.tallies)
		}
		want := noon + c.clock - 8000 // lateness, skew and grace
		if got := p.idleUntil; c.trust == deployment.TrustBroker && (got > want || got < want-5000) {
			t.Errorf("%+v: windows up to %d ms after noon close, want %d", c, got-noon, want-noon)
		}
		s.noRecords = true
		if s.awaitFirstRecord(); p.silentSince != noon+c.clock {
			t.Errorf("%+v: the silence after the first record begins %d ms after noon", c, p.silentSince-noon)
		}
	}
}

// A machine that has slept has a right clock, and its run does not know how much time has passed:
// until the broker's time is heard again, no window closes early and no record is of the future.
func TestRuleAMachineThatSleptCallsNoRecordOfTheFuture(t *testing.T) {
	const noon, slept = int64(1.7e12), int64(600_000)
	var passed, asleep int64
	clock := newTrustedTime(time.Second, slog.New(slog.DiscardHandler))
	clock.read = func() (int64, int64) { return noon + passed + asleep, passed }
	clock.setBroker(noon, 10)
	clock.now()
	passed = 20_000
	clock.now()
	asleep = slept
	for range 60 {
		passed += 1000
		if earliest, latest := clock.now(); earliest != noon+passed || latest != noon+passed+slept {
			t.Fatalf("windows close by %d ms after noon, and records are of the future from %d ms on", earliest-noon,
				latest-noon)
		}
	}
	clock.setBroker(noon+passed+slept, clocksDiffer.Milliseconds()+1) // too old
	clock.setBroker(-1, 10)                                           // none
	if earliest, _ := clock.now(); earliest != noon+passed {
		t.Errorf("a time that was not heard now is believed")
	}
	clock.setBroker(noon+passed+slept, 10)
	if earliest, latest := clock.now(); earliest != noon+passed+slept || latest != earliest {
		t.Errorf("the broker confirms the clock, and the time is %d to %d ms after noon", earliest-noon, latest-noon)
	}
}

// Without a broker's time, a clock that was set is believed after an hour of its own.
func TestRuleAClockThatGoesOnIsBelievedAfterAnHour(t *testing.T) {
	var wall, passed int64 = 1.7e12, 0
	clock := newTrustedTime(time.Second, slog.New(slog.DiscardHandler))
	clock.read = func() (int64, int64) { return wall + passed, passed }
	clock.now()
	passed = 2 * adoptAfter.Milliseconds()
	clock.now()
	wall += 60_000
	for _, c := range []struct{ after, ahead int64 }{{0, 0}, {adoptAfter.Milliseconds(), 0}, {1, 60_000}} {
		passed += c.after
		if now, _ := clock.now(); now != 1.7e12+passed+c.ahead {
			t.Errorf("%d ms after the step the time is %d ms ahead, want %d", c.after, now-1.7e12-passed, c.ahead)
		}
	}
}
