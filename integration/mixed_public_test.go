package integration

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// lockedBuffer takes log lines from many goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// The log of a run is for operators, who are on the other side of the wall: it names no user, by
// name or by account, no key, and no count of records, neither of all of them nor of a turn's, of
// which every one has hundreds here.
func TestRuleLogsNameNoUser(t *testing.T) {
	d := newMixed(t, startBroker(t), "logs", 2)
	var arrivals []arrival
	for i := range 3001 {
		a := at("nobodys-name", "nobodys-page", time.Duration(i)*20*time.Millisecond)
		if i%10 < 8 {
			stamp := a.stamp
			a = bought(fmt.Sprintf("nobodys-name-%d", i%70), fmt.Sprintf("nobodys-page-%d", i%3), stamp, stamp, int64(i%9), "nobodys-toy")
		}
		arrivals = append(arrivals, a)
	}
	d.load(scatter(arrivals, 2, 1))
	var log lockedBuffer
	d.run(func(o *runOptions) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	d.verify()
	secret := []string{"nobodys", `\d{3}`} // turns and epochs are small numbers here
	for owner := range d.reference().Accounts {
		secret = append(secret, fmt.Sprintf("(?i)%x", owner.ID[:]), regexp.QuoteMeta(base64.StdEncoding.EncodeToString(owner.ID[:])))
	}
	told := regexp.MustCompile(`time=\S+|127\.0\.0\.1:\d+`).ReplaceAllString(log.String(), "")
	for _, s := range secret {
		if at := regexp.MustCompile(s).FindStringIndex(told); at != nil {
			t.Errorf("the log contains %q: %q", s, told[max(0, at[0]-200):min(len(told), at[1]+100)])
		}
	}
	if log.Len() == 0 {
		t.Error("nothing was logged: the case says nothing")
	}
}

// Equal records are different events, of one user as of several.
func TestRuleNothingIsDeduplicated(t *testing.T) {
	d := newDeployment(t, startBroker(t), "mixed-copies", 3, func(c *pipeline.Config) {
		c.Events.Format.Value = "amount"
		c.Metrics = []pipeline.Metric{countOf("visits", 10*time.Second), sumOf("balance", 10*time.Second), usersOf("people", 10*time.Second)}
	})
	stamp := base.UnixMilli() + 1
	var arrivals []arrival
	for i := range 6 {
		arrivals = append(arrivals, bought(numbered("u", i/2), "p00", stamp, stamp, 7, "book"))
	}
	d.load([][]arrival{arrivals[:3], arrivals[3:5], arrivals[5:]})
	d.run(func(o *runOptions) { o.Until = base.Add(10 * time.Second) })
	d.verify()
	want := d.reference()
	var counts []int64
	for _, draw := range want.Draws {
		if draw.Key == "p00" {
			counts = append(counts, draw.Count)
		}
	}
	if !slices.Equal(counts, []int64{6, 42, 3}) {
		t.Errorf("counts are %v, want 6 events, their sum and 3 users", counts)
	}
}

// Bounds clip what one user can burn. The noise of a metric is as it was asked for, whatever they
// are.
func TestRuleBoundsDoNotChangeTheNoise(t *testing.T) {
	ladder := func(m pipeline.Metric, keys, events int) []float64 {
		config := baseConfig("localhost:1", "bounds")
		config.Events.Format.Value = "amount"
		m.MaxKeysPerUser, m.MaxEventsPerKey = keys, events
		m.Target = noisereduction.Target{Absolute: 40, Confidence: 0.95}
		config.Metrics = []pipeline.Metric{m}
		d, err := pipeline.Compile(config)
		if err != nil {
			t.Fatal(err)
		}
		var deviations []float64
		for _, u := range d.Metrics[0].Plan.Ladder() {
			deviations = append(deviations, u.Float())
		}
		return deviations
	}
	count, sum := countOf("visits", 10*time.Second), sumOf("balance", 10*time.Second)
	want := ladder(count, 1, 1)
	higher := sum
	higher.Min, higher.Max = -40, 30
	for what, got := range map[string][]float64{"other bounds": ladder(count, 3, 5), "values": ladder(sum, 1, 1), "other values": ladder(higher, 2, 3)} {
		if !slices.Equal(got, want) {
			t.Errorf("with %s the ladder is %v, not %v", what, got, want)
		}
	}
}

// Trusting producers' clocks weakens the promise: no deployment does so without asking for it.
func TestRuleProducerTimesAreAnExplicitChoice(t *testing.T) {
	d := newDeployment(t, startBroker(t), "mixed-trust", 1, func(c *pipeline.Config) { c.Time.Trust = "" })
	if got := d.compiled.Config.Time; got.Trust != pipeline.TrustBroker || got.Slack == 0 {
		t.Errorf("by default the times of %q are trusted, with a slack of %v", got.Trust, got.Slack)
	}
}

// What a user pays in one deployment is one account over all metrics: the same records cost the sum
// of what each metric charges.
func TestRuleOneAccountCoversAllMetrics(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBrokerProcess(t), "account", 1, forLife)
	d.load([][]arrival{shoppersAtPeace(81).arrivals()})
	d.finish()
	d.verify()
	want := d.reference()
	paid := map[reference.Owner]map[int]bool{}
	for owner, decisions := range want.Admitted {
		paid[owner] = map[int]bool{}
		for _, decision := range decisions {
			if decision.Admitted {
				paid[owner][decision.Metric] = true
			}
		}
	}
	most := 0
	for _, metrics := range paid {
		most = max(most, len(metrics))
	}
	if most < 5 {
		t.Errorf("nobody takes part in more than %d metrics: the case says little", most)
	}
	_, accounts := d.decisions()
	if len(accounts) != len(want.Accounts) {
		t.Errorf("%d accounts for %d users", len(accounts), len(want.Accounts))
	}
}
