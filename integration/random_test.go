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
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Deployments drawn at random: metrics, bounds, ladders, budgets, lateness, layout and workload. A
// seed that fails is a case to keep.
func TestInvariant5RandomDeployments(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	// In each of the first two one of the budgets refuses.
	seeds := []uint64{3, 8, 0, 1, 2, 4, 5, 6, 7, 9, 10, 11}[:pick(2, onReal(t, 6, 12))]
	var sum drawn
	for _, seed := range seeds {
		random := rand.New(runseed.PCG(t, seed, 0xdeb107))
		window := time.Duration(1+random.IntN(20)) * time.Second
		partitions := 1 + random.IntN(5)
		d := newDeployment(t, broker, fmt.Sprintf("random%d", seed), partitions, sharded(1+random.IntN(20), 1+random.IntN(3)),
			func(c *pipeline.Config) { drawValid(t, random, c, window) })
		w := workload{
			Seed: seed, Users: 2 + random.IntN(40), Pages: 2 + random.IntN(12), Windows: 2 + random.IntN(9), Window: window,
			Events: 1 + random.IntN(150), Disturb: mostlyInTime(random, d.config),
			Broken: random.IntN(10), Late: random.IntN(10), Past: random.IntN(5), Future: random.IntN(5),
		}
		d.load(scatter(w.arrivals(), partitions, seed))
		d.finish()
		if err := d.check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		sum.add(d)
	}
	sum.tellMuch(t)
}

// mostlyInTime draws by how much event times lie before their records': by so little more than the
// lateness, at most, that no more than a quarter of the records come too late for it.
func mostlyInTime(random *rand.Rand, c pipeline.Config) time.Duration {
	return time.Duration(random.Int64N(int64(c.Time.Lateness)*4/3+1)) + time.Millisecond
}

// drawValid draws until a configuration is valid: some ask for a first rung finer than the top.
func drawValid(t *testing.T, random *rand.Rand, c *pipeline.Config, window time.Duration) {
	t.Helper()
	for range 50 {
		drawConfig(random, c, window)
		_, err := pipeline.Compile(*c)
		var impossible *pipeline.ConfigError
		switch {
		case err == nil:
			return
		case !errors.As(err, &impossible):
			t.Fatalf("compiling %+v: %v", c.Metrics, err)
		}
	}
	t.Fatal("no configuration of 50 can be")
}

func drawConfig(random *rand.Rand, c *pipeline.Config, window time.Duration) {
	c.Privacy.Epsilon = []float64{0.5, 4, 40}[random.IntN(3)]
	c.Privacy.Accountant = []string{"gdp", "zcdp"}[random.IntN(2)]
	c.Time.Lateness = time.Duration(random.IntN(3000)) * time.Millisecond
	c.Time.Skew = time.Duration(random.IntN(3000)) * time.Millisecond
	c.Time.NoFuture = random.IntN(3) == 0
	c.LedgerSlots = 4 + random.IntN(20)
	c.Metrics = nil
	for i := range 1 + random.IntN(3) {
		m := publicMetric(fmt.Sprintf("metric%d", i), window)
		if random.IntN(2) == 0 {
			m = privateMetric(m.Name, window)
		}
		m.MaxKeysPerUser, m.MaxEventsPerKey = 1+random.IntN(4), 1+random.IntN(3)
		m.LastAtLeast = []int{1, 2, 3, 20}[random.IntN(4)]
		m.Target = noisereduction.Target{
			Relative:   []float64{0, 0.02, 0.1, 0.37, 0.5}[random.IntN(5)],
			Absolute:   []float64{0, 0.5, 3, 40}[random.IntN(4)],
			Confidence: []float64{0.8, 0.9, 0.95, 0.97, 0.999}[random.IntN(5)],
		}
		m.Ladder = pipeline.Ladder{Kind: []string{"adaptive", "geometric"}[random.IntN(2)], Factor: []float64{1.1, 2, 7.5}[random.IntN(3)]}
		if random.IntN(4) == 0 && m.Keys.Mode == pipeline.KeysPublic && m.Target.Relative > 0 {
			m.Ladder.ExpectedMax = 1000
		}
		c.Metrics = append(c.Metrics, m)
	}
}

// No record of a user may stop the process or move another's count: hostile values are
// dead-lettered, and the pipeline goes on.
func TestRuleNoRecordStopsTheProcess(t *testing.T) {
	d := newDeployment(t, startBroker(t), "hostile", 2, tight, func(c *pipeline.Config) { c.Events.Format.MaxRecordBytes = 5000 })
	long := strings.Repeat("k", 600)
	values := []string{
		"", "null", "[]", `""`, "{}", "{", `{"user":{}}`, `{"user":"u","page":"p00"}`, `{"user":"u","page":"p00","ts":null}`,
		`{"user":"u","page":"p00","ts":1e300}`, `{"user":"u","page":"p00","ts":-1e15}`, `{"user":"u","page":"p00","ts":"NaN"}`,
		`{"user":"u","page":"p00","ts":99999999999999999999999}`, `{"user":"u","page":null,"ts":1772323200000}`,
		`{"user":5,"page":"p00","ts":1772323200000}`, `{"user":"` + strings.Repeat("u", 1100) + `","page":"p00","ts":1772323200000}`,
		`{"user":"u","page":"` + long + `","ts":1772323200000}`, "{\"user\":\"u\",\"page\":\"\xff\xfe\",\"ts\":1772323200000}",
		`{"user":"u","page":"\ud800","ts":1772323200000}`, `{"user":"\u0000","page":"\u0000","ts":1772323200000}`,
		`{"user":"u","user":"v","page":"p00","ts":1772323200000}`, `{"user":"u","page":"p00","ts":1772323200000}trailing`,
		`{"user":"u","page":"p00","ts":1772323200000.999}`, `{"user":"u","page":"","ts":1772323200000}`,
		strings.Repeat("[", 4000), `{"user":"u","page":"p00","ts":1772323200000,"pad":"` + strings.Repeat("x", 6000) + `"}`,
	}
	random := rand.New(runseed.PCG(t, 1, 2))
	arrivals := calm(36).arrivals()
	for i := range 40 {
		junk := make([]byte, random.IntN(200))
		for j := range junk {
			junk[j] = byte(random.Uint32())
		}
		values = append(values, string(junk))
		if i%2 == 0 { // a good record with one byte changed
			good := []byte(arrivals[random.IntN(len(arrivals))].value)
			good = append([]byte{}, good...)
			good[random.IntN(len(good))] ^= byte(1 << random.IntN(8))
			values = append(values, string(good))
		}
	}
	for _, v := range values {
		at := random.IntN(len(arrivals))
		arrivals = append(arrivals[:at+1], arrivals[at:]...)
		arrivals[at] = arrival{user: "hostile", stamp: arrivals[at].stamp, value: []byte(v)}
	}
	d.load(scatter(arrivals, 2, 1))
	d.run()
	d.verify()
}
