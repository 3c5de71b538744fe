package integration

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Deployments are random in their kinds, key modes, filters, windows, periods, ladders, budgets and
// layout, and in whether shards lose their memory. Keep a seed that fails as a case.
func TestInvariant5MixedRandomDeployments(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	for seed := range uint64(pick(2, onReal(t, 3, 10))) {
		random := rand.New(runseed.PCG(t, seed, 0x317f1))
		unit := time.Duration(1+random.IntN(8)) * time.Second
		partitions := 1 + random.IntN(4)
		name := numbered("mixed-random", int(seed))
		config := drawMixed(t, random, broker, name, unit)
		d := newDeployment(t, broker, name, partitions, func(c *pipeline.Config) { *c = config })
		w := workload{
			Seed: seed, Users: 2 + random.IntN(40), Pages: 2 + random.IntN(8), Windows: 3 + random.IntN(15),
			Window: unit, Bought: true,
			Events: 1 + random.IntN(120), Disturb: mostlyInTime(random, config),
			Broken: random.IntN(8), Late: random.IntN(8), Past: random.IntN(5), Future: random.IntN(5),
		}
		d.load(scatter(w.arrivals(), partitions, seed))
		every := uint64(1 + random.IntN(6))
		d.finish(forgetting(every * uint64(random.IntN(2))))
		if err := d.check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// drawMixed draws configurations until one is valid: some need more than the budget.
func drawMixed(t *testing.T, random *rand.Rand, broker, name string, unit time.Duration) pipeline.Config {
	t.Helper()
	for range 2000 {
		config := baseConfig(broker, name)
		config.Shards, config.ReleaseShards, config.LedgerSlots = 1+random.IntN(20), 1+random.IntN(4), 4+random.IntN(30)
		config.Privacy.Epsilon = []float64{1, 8, 40}[random.IntN(3)]
		config.Privacy.Accountant = []string{"gdp", "zcdp"}[random.IntN(2)]
		if random.IntN(3) > 0 {
			periodOf(time.Duration(1+random.IntN(40))*time.Second +
				time.Duration(random.IntN(2))*137*time.Millisecond)(&config)
		} else {
			config.Privacy.Lasts = time.Duration(1+random.IntN(200_000)) * time.Millisecond
		}
		config.Events.Format.Value = "amount"
		config.Time.Lateness = time.Duration(random.IntN(3000)) * time.Millisecond
		config.Time.AcceptFuture = random.IntN(3) == 0
		config.Metrics = nil
		for i := range 1 + random.IntN(6) {
			config.Metrics = append(config.Metrics, drawMetric(random, &config, numbered("metric", i), unit))
		}
		// A metric may come before the one that its keys are from.
		random.Shuffle(len(config.Metrics), func(i, j int) {
			config.Metrics[i], config.Metrics[j] = config.Metrics[j], config.Metrics[i]
		})
		_, err := pipeline.Compile(config)
		var impossible *pipeline.ConfigError
		switch {
		case err == nil:
			return config
		case !errors.As(err, &impossible):
			t.Fatalf("compiling %+v: %v", config.Metrics, err)
		}
	}
	t.Fatal("none of 2,000 configurations is valid")
	return pipeline.Config{}
}

func drawMetric(random *rand.Rand, c *pipeline.Config, name string, unit time.Duration) pipeline.Metric {
	slide := unit * time.Duration(1+random.IntN(3))
	m := pipeline.Metric{
		Name: name, Kind: []string{"events", "distinct_users", "sum", "mean", "variance", "standard_deviation",
			"quantiles", "histogram"}[random.IntN(8)],
		Window: slide * time.Duration(1+random.IntN(6)), Slide: slide,
		Keys:           pipeline.Keys{Mode: pipeline.KeysPublic, List: []string{"p00", "p01", "p02", "nobody"}},
		MaxKeysPerUser: random.IntN(5), MaxEventsPerKey: random.IntN(4),
		Filter: []string{"", "", "item.gift", `item.category == "book"`, `amount >= 3`,
			`item.nothing == 1`}[random.IntN(6)],
		Burst: []float64{0, 0.05, 0.3, 1}[random.IntN(4)],
		Share: []float64{0, 0, 0.02, 0.3}[random.IntN(4)],
		Noise: []float64{4, 20, 100}[random.IntN(3)],
		Ladder: pipeline.Ladder{Kind: []string{"adaptive", "geometric"}[random.IntN(2)], Factor: []float64{1.1, 2,
			7.5}[random.IntN(3)]},
		Target: noisereduction.Target{
			Relative:   []float64{0, 0.05, 0.1, 0.4}[random.IntN(4)],
			Absolute:   []float64{2, 7, 50}[random.IntN(3)],
			Confidence: []float64{0.8, 0.95, 0.999}[random.IntN(3)],
		},
	}
	private := slices.IndexFunc(c.Metrics, func(m pipeline.Metric) bool { return m.Keys.Mode == pipeline.KeysPrivate })
	switch {
	case m.Kind != "sum" && random.IntN(2) == 0:
		m.Keys = pipeline.Keys{Mode: pipeline.KeysPrivate}
	case private >= 0 && random.IntN(2) == 0:
		base := c.Metrics[private]
		m.Keys = pipeline.Keys{Mode: pipeline.KeysFrom, From: base.Name}
		m.Window, m.Slide = base.Window, base.Slide
	}
	if m.Kind == "sum" {
		m.Min, m.Max = int64(random.IntN(8)-6), int64(2+random.IntN(20))
		if m.Min < 0 {
			m.Target.Relative = 0
		}
	}
	if metrickind.Of(m.Kind).Vector != nil {
		m.Min = int64(random.IntN(8) - 6)
		m.Max = m.Min + int64(1+random.IntN(20))
		if m.Kind != "mean" {
			m.Target.Relative = 0
		}
	}
	if metrickind.Of(m.Kind).Tree != nil {
		drawTree(random, &m)
	}
	for _, also := range metrickind.Of(m.Kind).Also() {
		if random.IntN(3) == 0 && m.Max-m.Min <= 100 {
			m.Also = append(m.Also, also)
		}
	}
	if random.IntN(3) == 0 {
		m.Counted = &pipeline.Counted{Share: []float64{0, 0.1, 0.4}[random.IntN(3)], MaxEvents: []int{0, 1, 5,
			50}[random.IntN(4)]}
	}
	return m
}

// drawTree draws the range, steps or buckets, and target of quantiles or a histogram.
func drawTree(random *rand.Rand, m *pipeline.Metric) {
	m.Scale = []string{"", pipeline.ScaleLinear, pipeline.ScaleLogarithmic, pipeline.ScaleLogarithmic}[random.IntN(4)]
	m.Min = int64(random.IntN(8) - 6)
	m.Max = m.Min + []int64{1, 20, 1000, 1 << 20}[random.IntN(4)]
	m.Target.Relative, m.Target.Absolute = 0, []float64{0, 0.01, 0.2, 0.49}[random.IntN(4)]
	if m.Kind == metrickind.Quantiles {
		m.Ranks = [][]float64{{0.5}, {0.9, 0.25}, {0.5, 0.95, 0.001}}[random.IntN(3)]
		return
	}
	m.Target.Absolute *= 100
	if random.IntN(2) == 0 {
		m.Scale, m.Edges = "", []float64{float64(m.Min)}
		for range []int{2, 3, 8, 9, 20}[random.IntN(5)] {
			m.Edges = append(m.Edges, m.Edges[len(m.Edges)-1]+float64(1+random.IntN(1+random.IntN(30))))
		}
		m.Max = int64(m.Edges[len(m.Edges)-1])
		return
	}
	m.Buckets = []int{0, 2, 8, 9, 17}[random.IntN(5)]
	m.Max = max(m.Max, m.Min+20)
	if m.Scale == pipeline.ScaleLogarithmic {
		m.Min, m.Max = 1+int64(random.IntN(3)), 1<<20
	}
}

// mostlyInTime draws how far event times may be before record timestamps, so that at most a quarter
// of the records are late.
func mostlyInTime(random *rand.Rand, c pipeline.Config) time.Duration {
	return time.Duration(random.Int64N(int64(c.Time.Lateness)*4/3+1)) + time.Millisecond
}
