package serve

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// interval is a value with its interval, as the API or the page has it.
type interval struct{ value, low, high float64 }

// A mean and a standard deviation are near the real ones, and the API and the page show both with
// the interval that was published, the page with decimals.
func TestMeansAndStandardDeviationsAreServedWithTheirIntervals(t *testing.T) {
	broker := deploytest.Start(t)
	d := compiled(t, broker.Addr(), publicSeconds, func(c *deployment.Config) {
		c.Events.Format.Value = "price"
		m := &c.Metrics[0]
		m.Max, m.MaxKeysPerUser, m.MaxEventsPerKey, m.Noise = 50, 1, 1, 40
		m.Target = noisereduction.Target{Absolute: 2, Confidence: 0.95}
		c.Metrics = append(c.Metrics, *m)
		c.Metrics[0].Name, c.Metrics[0].Kind = "price", metrickind.Mean
		c.Metrics[1].Name, c.Metrics[1].Kind = "spread", metrickind.StandardDeviation
	})
	const seconds, perSecond = 3, 6000
	begin(t, d, seconds, perSecond)
	if _, err := pipeline.Run(t.Context(), d, pipeline.RunOptions{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	published, err := pipeline.ReadReleases(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, d, func(*Options) {})
	var text string
	await.That(t, patienceOfTests, "all values are served", func() bool {
		_, text = r.get(t, "/v1/releases?limit=1000")
		return len(published) == 2*3*seconds && strings.Count(text, `"metric"`) == len(published)
	})
	served := intervalsOf(t, text)
	_, page := r.get(t, "/")
	shown := shownOn(t, page)
	for i := range published {
		p := &published[i]
		at := [3]string{p.Metric, p.Key, time.UnixMilli(p.WindowStart).UTC().Format(time.RFC3339)}
		api := served[at]
		if got := (interval{p.Count(), p.Low, p.High}); api != got || !(api.low < api.value && api.value < api.high) {
			t.Errorf("%v is served as %v, and %v was published", at, api, got)
		}
		on := shown[at]
		if far := max(math.Abs(on.value-api.value), math.Abs(on.low-api.low), math.Abs(on.high-api.high)); far > 1.0/1024 {
			t.Errorf("%v is %v on the page, and %v in the API", at, on, api)
		}
		real := 24.5 // of the whole numbers from 0 to 49
		if p.Metric == "spread" {
			real = math.Sqrt((50*50 - 1) / 12.0)
		}
		if math.Abs(api.value-real) > 4 || api.high-api.low > 25 {
			t.Errorf("%v is %v, and really %v", at, api, real)
		}
	}
	for _, want := range []string{"mean of price", "standard deviation of price", "clamped to 0 to 50"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// intervalsOf reads an answer of /v1/releases, by metric, key and the start of the window.
func intervalsOf(t *testing.T, text string) map[[3]string]interval {
	t.Helper()
	var answer struct {
		Releases []struct {
			Metric, Key      string
			WindowStart      string `json:"window_start"`
			Value, Low, High float64
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	all := map[[3]string]interval{}
	for _, v := range answer.Releases {
		all[[3]string{v.Metric, v.Key, v.WindowStart}] = interval{v.Value, v.Low, v.High}
	}
	return all
}

// shownOn reads the data block of the page.
func shownOn(t *testing.T, page string) map[[3]string]interval {
	t.Helper()
	block := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindStringSubmatch(page)
	if block == nil {
		t.Fatal("the page has no data")
	}
	var data struct {
		Metrics []struct {
			Name        string
			Fine        bool
			First, Step int64
			Keys        []struct {
				Key                     string
				At, Value, Below, Above []int64
			}
		}
	}
	if err := json.Unmarshal([]byte(block[1]), &data); err != nil {
		t.Fatal(err)
	}
	all := map[[3]string]interval{}
	for _, m := range data.Metrics {
		if !m.Fine {
			t.Errorf("the page shows %s without decimals", m.Name)
		}
		for _, k := range m.Keys {
			i := 0
			for run := 0; run < len(k.At); run += 2 {
				for w := k.At[run]; w < k.At[run]+k.At[run+1]; w++ {
					start := time.UnixMilli(m.First + w*m.Step).UTC().Format(time.RFC3339)
					v, below, above := float64(k.Value[i])/1024, float64(k.Below[i])/1024, float64(k.Above[i])/1024
					all[[3]string{m.Name, k.Key, start}] = interval{v, v - below, v + above}
					i++
				}
			}
		}
	}
	return all
}
