package advice_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

var target = noisereduction.Target{Relative: .1, Confidence: .95}

// settings returns a setting as those of a demo; zero bounds are the defaults.
func settings(s advice.Setting) demo.Settings {
	aim := target
	aim.Relative = s.Relative
	return demo.Settings{Epsilon: s.Epsilon, Delta: 1e-6, Accountant: "gdp", Window: s.Window, Target: aim,
		MaxKeysPerUser: s.KeysPerUser, MaxEventsPerKey: s.EventsPerKey, LastAtLeast: s.LastAtLeast}
}

func question(events []shapes.Event, sizes ...time.Duration) advice.Question {
	step := time.Hour
	if len(sizes) > 0 {
		step = sizes[0]
	}
	c := sample.NewCollector(sample.Options{Step: step})
	for _, e := range events {
		c.Add([]byte(e.User), []byte(e.Key), e.At.UnixMilli())
	}
	return advice.Question{Sample: c.Sample(), Sizes: sizes, Terms: advice.Terms{Delta: 1e-6, Target: target}, Given: advice.Setting{Epsilon: 1},
		Compile: func(s advice.Setting) (*pipeline.Deployment, error) { return settings(s).Compile() }}
}

// measured are means over noise keys, with the deviations of single runs.
type measured struct{ mean, deviation map[string]float64 }

func measure(t *testing.T, dir string, s shapes.Shape, events []shapes.Event, of demo.Settings, keys int) measured {
	t.Helper()
	m := measured{map[string]float64{}, map[string]float64{}}
	var runs []map[string]float64
	for key := range keys {
		got, err := shapes.Measure(t.Context(), dir, s, events, of, uint64(key))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, map[string]float64{
			"counted": got.Counted / got.Truth, "kept": got.Kept / got.Truth, "shown": got.Shown, "keys": got.KeysShown, "share": got.ShownTruth / got.Truth,
			"error": got.Error, "typical": got.Typical,
		})
	}
	for what := range runs[0] {
		for _, r := range runs {
			m.mean[what] += r[what] / float64(keys)
		}
		for _, r := range runs {
			m.deviation[what] += math.Pow(r[what]-m.mean[what], 2) / float64(max(1, keys-1))
		}
		m.deviation[what] = math.Sqrt(m.deviation[what])
	}
	return m
}

// gridOfBefore has the settings that plan once chose from, which knew no target: the search must
// find one that is as good.
func gridOfBefore(s *sample.Stats, windows int) (out []advice.Setting) {
	round := func(atLeast float64) int {
		for power := 1; ; power *= 10 {
			for _, digit := range []int{1, 2, 3, 5, 8} {
				if n := digit * power; float64(n) >= atLeast {
					return n
				}
			}
		}
	}
	for _, last := range []int{round(s.Active.P50), round(s.Active.P90), round(float64(windows)), 24} {
		for i := range 5 {
			for j := range 5 {
				out = append(out, advice.Setting{KeysPerUser: round(math.Pow(s.Keys.P99, float64(i)/4) - 1e-9), EventsPerKey: round(math.Pow(s.PerKey.P99, float64(j)/4) - 1e-9),
					LastAtLeast: last, Epsilon: 1, Relative: target.Relative})
			}
		}
	}
	return out
}

// The search never is worse than the grid of before, by the least of whose errors it is judged.
func TestTheSearchIsNoWorseThanAGrid(t *testing.T) {
	long.Test(t)
	all := shapes.All()
	if os.Getenv("TOLLGATE_PLAN_TABLE") == "" {
		all = all[1:2] // all ten take minutes
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			q := question(s.Events(), s.Window)
			a, err := advice.Answer(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			found, best := a.Block.Point, advice.Point{Typical: math.Inf(1)}
			for _, g := range gridOfBefore(&a.Sizes[0].Stats, a.Sizes[0].Stats.Windows) {
				g.Window = s.Window
				p, err := q.Forecast(t.Context(), g)
				if err == nil && p.Typical < best.Typical {
					best = *p
				}
			}
			t.Logf("typically %.3g with %+v, of a grid %.3g with %+v", found.Typical, found.Setting, best.Typical, best.Setting)
			if found.Typical > 1.03*best.Typical+0.005 {
				t.Errorf("typically %.3g from the real count, of a grid %.3g with %+v", found.Typical, best.Typical, best.Setting)
			}
		})
	}
}

// A newcomer's two commands on ten shapes of data: what plan says of the setting that it recommends
// is what the product gives with it, over 6 noise keys (20 for the table): within 10 % or three
// standard errors, and numbers of keys within one; and values are closer to the real counts than
// with the defaults of demo. With -v the table of both.
func TestTheRecommendedSettingGivesWhatPlanSays(t *testing.T) {
	long.Test(t)
	keys, all := 20, shapes.All()
	if os.Getenv("TOLLGATE_PLAN_TABLE") == "" {
		keys, all = 6, all[:3] // all ten take minutes
	}
	dir := t.TempDir()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "shape\tsettings\tkept\tkeys shown\tevents shown\terror\ttypical error")
	row := func(name, with string, m measured, of float64) {
		fmt.Fprintf(w, "%s\t%s\t%.0f %%\t%.1f of %.0f\t%.1f %%\t± %.1f\t%.1f %%\n", name, with, 100*m.mean["kept"], m.mean["keys"], of, 100*m.mean["share"],
			m.mean["error"], 100*m.mean["typical"])
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			keys := keys
			if s.Name == "windows" { // 10,000 turns a run
				keys = 2
			}
			events := s.Events()
			a, err := advice.Answer(t.Context(), question(events, s.Window))
			if err != nil {
				t.Fatal(err)
			}
			p := &a.Block.Point
			before := measure(t, dir, s, events, settings(advice.Setting{Window: s.Window, KeysPerUser: 2, EventsPerKey: 2, LastAtLeast: 24, Epsilon: 1, Relative: target.Relative}), min(keys, 4))
			after := measure(t, dir, s, events, settings(p.Setting), keys)
			row(s.Name, "2 × 2, 24 windows", before, p.Keys)
			row("", fmt.Sprintf("%d × %d, %d windows", p.KeysPerUser, p.EventsPerKey, p.LastAtLeast), after, p.Keys)
			for _, c := range []struct {
				what string
				said float64
				unit float64 // that is always allowed
			}{{"counted", p.Counted, 0}, {"shown", p.Shown, 1}, {"keys", p.KeysShown, 1}, {"share", p.ShownTruth, 0.005}, {"error", p.Error, 0}, {"typical", p.Typical, 0.01}} {
				if (c.what == "error" || c.what == "typical") && p.Shown < 5 {
					continue // of too few counts
				}
				// The forecast is a mean over 20 paths, of the same deviation.
				allowed := max(0.1*c.said, 3*after.deviation[c.what]*math.Sqrt(1/float64(keys)+1./20), c.unit)
				if math.Abs(after.mean[c.what]-c.said) > allowed {
					t.Errorf("%s is %.4g, forecast %.4g ± %.2g", c.what, after.mean[c.what], c.said, allowed)
				}
			}
			if after.mean["typical"] > before.mean["typical"]+0.01 {
				t.Errorf("typically %.3g from the real count, with the defaults %.3g", after.mean["typical"], before.mean["typical"])
			}
		})
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	t.Log("\n" + table.String())
	if path := os.Getenv("TOLLGATE_PLAN_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(table.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}
