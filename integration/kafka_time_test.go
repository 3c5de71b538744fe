package integration

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// On a topic with append times, producers' stamps have no effect: lateness, the test for the future
// and the ends of turns follow the broker's clock.
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
	// later than lateness allows, but after the start of the deployment
	write(1, "late", time.Now().Add(-10*time.Second), 7)
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
	must.Succeed(t, d.checkAgainst(log))
	if r := d.report(); r.Accepted != 7 || r.Late != 7 || r.Future != 11 || r.BeforeStart != 3 {
		t.Errorf("accepted %d, late %d, future %d, before the start %d: want 7, 7, 11, 3", r.Accepted, r.Late, r.Future,
			r.BeforeStart)
	}
}
