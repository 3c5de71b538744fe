package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

var monday = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC).UnixMilli()

const hour = int64(time.Hour / time.Millisecond)

func facts(name, kind, keys string, size, slide int64) metricFacts {
	return metricFacts{
		MetricSpec: schemas.MetricSpec{
			Name: name, Kind: kind, WindowSize: size, WindowSlide: slide, MaxKeysPerUser: 2, MaxEventsPerKey: 3,
			Relative: 0.1, Confidence: 0.95, KeyMode: keys, PublicKeys: [][]byte{[]byte("a"), []byte("b")},
		},
		known: true, meetableFrom: 1164.2, sigmaTop: 59.4,
	}
}

func promiseFor(metrics ...metricFacts) promise {
	return promise{
		epsilon: 1, delta: 1e-6, mu: 0.2367, accountant: "gdp", trust: pipeline.TrustProducer, valueField: "price",
		noiseKeys: []string{"k1"}, metrics: metrics,
	}
}

// released is a value around truth, with the noise of an adaptive ladder.
func released(r *rand.Rand, metric, key string, start, size int64, truth float64) schemas.Release {
	sigma := math.Max(math.Abs(truth)*0.045, 59.4)
	value := math.Round((truth + sigma*r.NormFloat64()) * unit)
	margin := 1.96 * sigma
	return schemas.Release{
		Metric: metric, WindowStart: start, WindowEnd: start + size, Key: key, Value: int64(value), StdDev: sigma,
		Low: value/unit - margin, High: value/unit + margin, Confidence: 0.95, Met: margin <= 0.1*math.Abs(value/unit),
		Rungs: uint32(3 + r.IntN(9)), NoiseKeyID: "k1", Turn: 1,
	}
}

// daily goes up and down over 24 hours.
func daily(i int, slide int64) float64 {
	return 1 - 0.6*math.Cos(2*math.Pi*(float64(int64(i)*slide)/float64(24*hour)-0.2))
}

// sample is what a page is made of.
type sample struct {
	promise  promise
	releases []schemas.Release
}

// pages is like the demo: six public keys, 24 hours.
func pages() sample {
	r := rand.New(rand.NewPCG(1, 2)) // fixed seed: a made-up page, the same in every picture
	s := sample{promise: promiseFor(facts("views", "events", pipeline.KeysPublic, hour, hour))}
	for i := range 24 {
		for k, key := range []string{"/home", "/product", "/search", "/checkout", "/cart", "/account"} {
			s.releases = append(s.releases, released(r, "views", key, monday+int64(i)*hour, hour,
				6000/float64(k+1)*daily(i, hour)))
		}
	}
	return s
}

// mixed has a metric of every kind: private keys with gaps, sliding windows
// with their share of counted events, a sum that is negative and keys that are far apart.
func mixed() sample {
	r := rand.New(rand.NewPCG(3, 4)) // fixed seed: a made-up page, the same in every picture
	private := facts("searches", "events", pipeline.KeysPrivate, hour, hour)
	private.threshold = 310.5
	sliding := facts("visitors", metrickind.DistinctUsers, pipeline.KeysPublic, 24*hour, hour)
	counted := facts("visitors.counted", metrickind.Counted, pipeline.KeysPublic, 24*hour, hour)
	counted.Of, counted.PublicKeys = "visitors", [][]byte{[]byte(metrickind.EventsCounted),
		[]byte(metrickind.EventsLeftOut)}
	sums := facts("revenue", metrickind.Sum, pipeline.KeysFrom, hour, hour)
	sums.KeysFrom, sums.Min, sums.Max, sums.Relative, sums.Absolute, sums.Filter = "searches", -500, 2000, 0, 5000,
		`country == "AT" && price < 2000`
	s := sample{promise: promiseFor(private, sliding, counted, sums)}
	for i := range 96 {
		start := monday + int64(i)*hour
		for k, key := range []string{"weather", "train times", "пример", "tax return"} {
			truth := 3000 / math.Pow(4, float64(k)) * daily(i, hour)
			if truth+60*r.NormFloat64() < 310 {
				continue
			}
			s.releases = append(s.releases, released(r, "searches", key, start, hour, truth),
				released(r, "revenue", key, start, hour, (truth-1200)*math.Pow(10, float64(k))))
		}
		for k, key := range []string{"Austria", "Bhutan"} {
			s.releases = append(s.releases, released(r, "visitors", key, start, 24*hour,
				9000/float64(3*k+1)*(1+0.1*daily(i, hour))))
		}
		s.releases = append(s.releases, released(r, "visitors.counted", metrickind.EventsCounted, start, 24*hour,
			11000-20*float64(i)),
			released(r, "visitors.counted", metrickind.EventsLeftOut, start, 24*hour, 20*float64(i)))
	}
	return s
}

// many has keys and windows by the hundreds and thousands.
func many(keys, windows int) sample {
	r := rand.New(rand.NewPCG(5, 6)) // fixed seed: a made-up page, the same in every picture
	s := sample{promise: promiseFor(facts("requests", "events", pipeline.KeysPublic, hour, hour))}
	for i := range windows {
		for k := range keys {
			s.releases = append(s.releases, released(r, "requests", fmt.Sprintf("service-%03d", k),
				monday+int64(i)*hour, hour, 90000/float64(k+1)*daily(i, hour)))
		}
	}
	return s
}

// ranked has quantiles of a metric for each key, around a middle, with intervals that reach farther
// up than down.
func ranked(windows int, middle float64, keys []string, ranks ...float64) sample {
	r := rand.New(rand.NewPCG(9, 10)) // fixed seed: a made-up page, the same in every picture
	parent := facts("latency", metrickind.Quantiles, pipeline.KeysPublic, hour, hour)
	s := sample{promise: promiseFor(parent)}
	for _, q := range ranks {
		m := facts("latency.p"+strconv.FormatFloat(100*q, 'g', 6, 64), "quantile", pipeline.KeysPublic, hour, hour)
		m.Of, m.Relative, m.Absolute, m.Max = parent.Name, 0, 0.02, int64(math.Round(q*metrickind.RankUnit))
		s.promise.metrics = append(s.promise.metrics, m)
	}
	for i := range windows {
		for k, key := range keys {
			start := monday + int64(i)*hour
			s.releases = append(s.releases, released(r, parent.Name, key, start, hour, 5000*float64(k+1)*daily(i,
				hour)))
			for _, m := range s.promise.metrics[1:] {
				normal := math.Sqrt2 * math.Erfinv(2*float64(m.Max)/metrickind.RankUnit-1)
				spread := 30 / math.Sqrt(daily(i, hour)) * (1 + normal*normal)
				v := released(r, m.Name, key, start, hour, 0)
				v.Value = int64(math.Round(middle+100*float64(k)+90*(normal+0.1*normal*normal)+
					10*r.NormFloat64()) * unit)
				v.Low, v.High, v.StdDev = float64(v.Value)/unit-spread/4, float64(v.Value)/unit+spread, spread/2
				v.Met = math.Abs(normal) < 1
				s.releases = append(s.releases, v)
			}
		}
	}
	return s
}

var hostileTexts = []string{
	`</script><img src=x onerror="document.title='broken'">`, `<!--<script>`, `]]>`, `"><svg/onload=alert(1)>`,
	`'+alert(1)+'`, "`${alert(1)}`",
	"\u2028\u2029", "\u202ekcab", "=1+1", "&lt;b&gt;", "{{.}}", "a\x00b", `\u003c/script>`, "__proto__",
	"line\r\nbreak",
}

// hostile has names that try to be more than text.
func hostile() sample {
	r := rand.New(rand.NewPCG(7, 8)) // fixed seed: a made-up page, the same in every picture
	evil := hostileTexts[0]
	m := facts("m"+evil, "events", pipeline.KeysPublic, hour, hour)
	m.Filter = evil
	s := sample{promise: promiseFor(m)}
	s.promise.noiseKeys, s.promise.valueField, s.promise.accountant = []string{evil}, evil, evil
	for i := range 6 {
		for k, key := range hostileTexts {
			s.releases = append(s.releases, released(r, m.Name, key, monday+int64(i)*hour, hour, float64(1000*(k+1))))
		}
		s.releases = append(s.releases, released(r, "old"+evil, evil, monday+int64(i)*hour, hour, 5000))
	}
	return s
}

// compiled is a real deployment, of private keys where no metric is given.
func compiled(metrics ...pipeline.Metric) (*pipeline.Deployment, error) {
	if len(metrics) == 0 {
		metrics = []pipeline.Metric{{
			Name: "views", Window: time.Hour, Keys: pipeline.Keys{Mode: pipeline.KeysPrivate},
			Target: noisereduction.Target{Relative: 0.1, Absolute: 120, Confidence: 0.95},
		}}
	}
	return pipeline.Compile(pipeline.Config{
		Kafka: pipeline.Kafka{Brokers: []string{"127.0.0.1:1"}},
		Events: pipeline.Events{Topic: "events", Format: event.Format{
			Format: "csv", Columns: []string{"user", "key", "time", "value"}, User: "user", Key: "key", Time: "time",
			TimeUnit: "ms", Value: "value",
		}},
		Privacy: pipeline.Privacy{Epsilon: 1, Delta: 1e-6, Lasts: 24 * time.Hour},
		Metrics: metrics,
		Keys: pipeline.SecretKeys{Noise: noisereduction.NoiseKey{ID: "k1", Secret: secret.New([32]byte{1})},
			UserHash: secret.New([32]byte{2})},
	})
}

// shares has a histogram of a metric for each key: shares of buckets and below edges, with
// intervals.
func shares(windows int, keys []string, edges ...int64) sample {
	r := rand.New(rand.NewPCG(11, 12)) // fixed seed: a made-up page, the same in every picture
	parent := facts("latency", metrickind.Histogram, pipeline.KeysPublic, hour, hour)
	s := sample{promise: promiseFor(parent)}
	add := func(name string, least, below int64) {
		m := facts(name, "bucket_share", pipeline.KeysPublic, hour, hour)
		m.Of, m.Relative, m.Absolute, m.Min, m.Max = parent.Name, 0, 2, least, below
		s.promise.metrics = append(s.promise.metrics, m)
	}
	for i := range edges[1:] {
		add(deployment.ShareName(parent.Name, edges[i]), edges[i], edges[i+1])
	}
	for _, edge := range edges[2 : len(edges)-1] {
		add(deployment.BelowName(parent.Name, edge), edges[0], edge)
	}
	last := edges[len(edges)-1]
	for i := range windows {
		for k, key := range keys {
			start := monday + int64(i)*hour
			s.releases = append(s.releases, released(r, parent.Name, key, start, hour, 5000*float64(k+1)*daily(i,
				hour)))
			for _, m := range s.promise.metrics[1:] {
				below := func(edge int64) float64 {
					return math.Pow(float64(edge-edges[0])/float64(last-edges[0]),
						0.5)
				}
				v := released(r, m.Name, key, start, hour, 0)
				v.Value = int64(math.Round((100*(below(m.Max)-below(m.Min)) + r.Float64()) * unit))
				v.Low, v.High, v.StdDev = max(0, float64(v.Value)/unit-2), float64(v.Value)/unit+3, 1
				v.Met = m.Min > edges[0]
				s.releases = append(s.releases, v)
			}
		}
	}
	return s
}
