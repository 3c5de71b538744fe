package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// The stamps that producers write are of no consequence on a topic with append times: lateness, the
// test for the future and the end of turns go by the broker's clock.
func TestRuleAppendTimesDecideAndProducersStampsDoNot(t *testing.T) {
	needReal(t)
	d := appended(t, startBroker(t), "stamps", 2, func(c *pipeline.Config) { c.Time.Lateness = 5 * time.Second })
	random := rand.New(runseed.PCG(t, 1, 2))
	began := time.Now().UnixMilli()
	write := func(partition int32, user string, eventTime time.Time, times int) {
		for range times {
			d.append(partition, []arrival{goodEvent(user, "p00", wildStamp(random), eventTime.UnixMilli())})
		}
	}
	write(0, "punctual", time.Now(), 5)
	write(1, "late", time.Now().Add(-10*time.Second), 7) // later than lateness allows, and after the start of the deployment
	write(0, "ahead", time.Now().Add(10*time.Minute), 11)
	write(1, "before", time.Now().Add(-time.Hour), 3)
	write(0, "skewed", time.Now().Add(20*time.Second), 2) // within the skew
	log := d.independentLog()
	for _, records := range log {
		for _, r := range records {
			if r.Timestamp < began-1000 || r.Timestamp > time.Now().UnixMilli()+1000 {
				t.Fatalf("the topic has no append times: %d", r.Timestamp)
			}
		}
	}
	d.sameLog(log)
	d.run()
	if err := d.checkAgainst(log); err != nil {
		t.Fatal(err)
	}
	if r := d.report(); r.Accepted != 7 || r.Late != 7 || r.Future != 11 || r.BeforeStart != 3 {
		t.Errorf("accepted %d, late %d, future %d, before the start %d: want 7, 7, 11, 3", r.Accepted, r.Late, r.Future, r.BeforeStart)
	}
}

// A run that follows the topic closes turns by append times alone: records whose event times
// scatter around the lateness get the same outcome live as in the reference, which knows the log
// and no clock.
func TestInvariant5AppendTimesCloseTurnsLive(t *testing.T) {
	needReal(t)
	d := appended(t, startBroker(t), "appendlive", 2)
	run := d.live()
	random := rand.New(runseed.PCG(t, 3, 4))
	start := d.referenceConfig().Start
	for i := range 250 {
		now := time.Now().UnixMilli()
		age := random.Int64N(1300) // lateness is a second: some are late by some milliseconds
		d.append(int32(i%2), []arrival{goodEvent(fmt.Sprintf("u%d", random.IntN(30)), fmt.Sprintf("p0%d", random.IntN(6)), wildStamp(random), now-age)})
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond) // append times are the broker's clock
	}
	passed := uint64(time.Now().UnixMilli()-start) / 2000
	time.Sleep(4 * time.Second) // one record on each partition then closes what was written
	for p := range int32(2) {
		d.append(p, []arrival{goodEvent("closer", "p00", 1, time.Now().UnixMilli())})
	}
	run.until(t, passed)
	run.finish(t)
	d.run() // tallies what stands after the last CLOSE
	if err := d.checkAgainst(d.independentLog()); err != nil {
		t.Fatal(err)
	}
	if r := d.report(); r.Late == 0 || r.Overtaken != 0 || r.Accepted < 100 {
		t.Errorf("accepted %d, late %d, overtaken %d: the case is not what it should be", r.Accepted, r.Late, r.Overtaken)
	}
}

// A topic whose producers stamp its records is refused where append times were promised: at the
// start, and where an operator changes the topic under a run.
func TestRuleProducerStampsAreRefusedWhereAppendTimesArePromised(t *testing.T) {
	needReal(t)
	d := appended(t, startBroker(t), "nostamps", 1)
	broker, topic := d.config.Kafka.Brokers[0], d.config.Events.Topic
	run := d.live()
	d.append(0, []arrival{goodEvent("u", "p00", 1, time.Now().UnixMilli())})
	run.until(t, 3)
	alterTopic(t, broker, topic, map[string]string{"message.timestamp.type": "CreateTime"})
	time.Sleep(100 * time.Millisecond) // the broker says it before it does it
	d.append(0, []arrival{goodEvent("u", "p00", time.Now().UnixMilli(), time.Now().UnixMilli())})
	select {
	case err := <-run.over:
		if !errors.Is(err, pipeline.ErrLogFault) || !strings.Contains(err.Error(), "LogAppendTime") {
			t.Errorf("the run ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the run believes a producer's stamp")
	}
	if _, err := d.tryRun(); err == nil || !strings.Contains(err.Error(), "LogAppendTime") {
		t.Errorf("the next run ended with %v", err)
	}
	if err := d.chargeable(); err != nil {
		t.Error(err)
	}
}

// One partition falls silent: nothing moves before lateness, skew and grace are over on the
// broker's side of time, everything afterwards, and the CLOSEs say that a clock was used.
func TestRuleASilentPartitionIsPassedAfterItsGrace(t *testing.T) {
	needReal(t)
	const skew, grace = 500 * time.Millisecond, 3 * time.Second
	d := appended(t, startBroker(t), "silent", 2, func(c *pipeline.Config) { c.Time.Skew, c.Time.IdleGrace = skew, grace })
	d.clocked = true
	run := d.live()
	now := time.Now()
	d.append(1, []arrival{goodEvent("silent", "p00", 1, now.UnixMilli())})
	start := d.referenceConfig().Start
	turn := uint64(now.UnixMilli()-start)/2000 + 1
	end := time.UnixMilli(start + int64(turn)*2000)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // partition 0 goes on, so that partition 1 alone is waited for
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				d.append(0, []arrival{goodEvent(fmt.Sprintf("u%d", i%7), "p01", 1, time.Now().UnixMilli())})
			}
		}
	}()
	run.until(t, turn)
	if early := time.Until(end.Add(d.config.Time.Lateness + skew + grace)); early > 0 {
		t.Errorf("the turn was settled %v before the grace was over", early)
	}
	close(stop)
	<-stopped
	run.finish(t)
	// An event that comes now is late by the broker's clock: with append times the idle rule takes
	// nothing from records on time.
	d.append(1, []arrival{goodEvent("tardy", "p00", 1, now.UnixMilli())})
	d.run()
	if err := d.checkAgainst(d.independentLog()); err != nil {
		t.Fatal(err)
	}
	if r := d.report(); r.Overtaken != 0 || r.Late == 0 {
		t.Errorf("%d records were overtaken and %d late", r.Overtaken, r.Late)
	}
	tr, err := d.readTrusted()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range tr.closes[turn].Cuts {
		if c.Partition == 1 && !c.Idle {
			t.Error("the CLOSE does not say that a clock was used")
		}
	}
}
