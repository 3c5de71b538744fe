package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	did "github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// planned is the answer for users of whom each does two things, with a key that is markup.
func planned(t *testing.T) *advice.Advice {
	t.Helper()
	c := did.NewCollector(did.Options{Step: time.Hour})
	for u := range 3000 {
		for h := range 3 {
			c.Add(fmt.Append(nil, "u", u), []byte(`</script><img src=x onerror=alert(1)>`), int64(h)*3600_000)
			c.Add(fmt.Append(nil, "u", u), []byte("other"), int64(h)*3600_000)
		}
	}
	target := noisereduction.Target{Relative: .1, Confidence: .95}
	a, err := advice.Answer(t.Context(), advice.Question{
		Sample: c.Sample(), Sizes: []time.Duration{time.Hour}, Terms: advice.Terms{Delta: 1e-6, Target: target}, Given: advice.Setting{Epsilon: 1},
		Compile: func(s advice.Setting) (*pipeline.Deployment, error) {
			cfg := deploytest.Config("localhost:1")
			cfg.Metrics = []pipeline.Metric{{
				Name: "events", Window: s.Window, Keys: pipeline.Keys{Mode: "private"}, MaxKeysPerUser: s.KeysPerUser, MaxEventsPerKey: s.EventsPerKey,
				LastAtLeast: s.LastAtLeast, Target: noisereduction.Target{Relative: s.Relative, Confidence: .95},
			}}
			return pipeline.Compile(cfg)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAPlanIsOnePageOfText(t *testing.T) {
	var b strings.Builder
	if err := WritePlan(&b, planned(t)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"Made from raw data: not for publication", "default-src &#39;none&#39;", "max_keys_per_user", `<p class="mark">Made from raw data`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<img") || strings.Count(page, "</script>") != 2 || strings.Contains(page, "http:") {
		t.Error("a key became markup, or the page loads something")
	}
}

// Where nothing of use can be shown, the page says so first, with what could be; and it has no
// setting to copy that would release nothing.
func TestAPlanOfNothingOfUseSaysSoFirst(t *testing.T) {
	a := planned(t)
	for _, c := range []struct {
		nothing string
		shown   float64
	}{{"", 2}, {"at ε = 1: because", 2}, {"at ε = 1: because", 0}} {
		a.Nothing, a.Block.Point.Shown = c.nothing, c.shown
		a.Need = &advice.Need{Of: "the real count", Within: 0.25, Now: 1, Limit: 0.25, Changes: []advice.Change{{What: "windows of 7d", Then: 0.4, Less: true}}}
		var b strings.Builder
		if err := WritePlan(&b, a); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		said, need, sliders := strings.Index(page, "At ε = 1: because."), strings.Index(page, "windows of 7d: then typically 40 % from the real count, which is not enough"), strings.Index(page, `id="sliders"`)
		if first := said >= 0 && said < need && need < sliders; first != (c.nothing != "") || need < 0 || strings.Count(page, `id="need"`) != 1 {
			t.Errorf("%+v: said at %d, what would be enough at %d, sliders at %d", c, said, need, sliders)
		}
		if copied := strings.Contains(page, "Setting to copy"); copied != (c.shown > 0) {
			t.Errorf("%+v: a setting to copy: %v", c, copied)
		}
	}
}

// The sliders stand at the most accurate setting, every position of theirs is a setting that was
// tried, and the figures are what the grid has of it.
func TestAPlanInABrowser(t *testing.T) {
	a := planned(t)
	var text strings.Builder
	if err := WritePlan(&text, a); err != nil {
		t.Fatal(err)
	}
	b := browse(t, text.String(), phone, "light")
	size := &a.Sizes[0]
	checkFigures(t, b, size.Tried, size.Best())
	tried := 0
	for dial := range 4 {
		var positions int
		b.eval(fmt.Sprintf(`+document.querySelectorAll("#sliders input")[%d].max + 1`, 1+dial), &positions)
		for at := range positions {
			var value string
			b.eval(fmt.Sprintf(`(() => {
				const dial = document.querySelectorAll("#sliders input")[%d];
				dial.value = %d;
				dial.dispatchEvent(new Event("input"));
				return document.querySelectorAll("#sliders output")[%d].textContent;
			})()`, 1+dial, at, 1+dial), &value)
			checkFigures(t, b, size.Tried, nil)
			tried++
		}
	}
	if tried < 4 {
		t.Errorf("the sliders have %d positions", tried)
	}
	var page struct {
		Wide, Plain, Settings, Keys, Blocks int
		Errors, Title                       string
	}
	b.eval(`(() => {
		const seen = (e) => getComputedStyle(e).display !== "none", rows = (id) => document.querySelectorAll("#" + id + " tbody tr").length;
		return {
			wide: document.documentElement.scrollWidth, plain: [...document.querySelectorAll(".exact")].filter(seen).length,
			settings: rows("tried"), keys: rows("keys"), blocks: document.querySelectorAll("[data-block] button").length,
			errors: document.documentElement.dataset.errors, title: document.title,
		};
	})()`, &page)
	if page.Wide > phone.Width || page.Plain != 0 || page.Errors != "0" || page.Title != "Tollgate plan" {
		t.Errorf("%d pixels wide, %d exact terms at once, %s errors, title %q", page.Wide, page.Plain, page.Errors, page.Title)
	}
	if page.Settings != min(20, len(size.Tried)) || page.Keys != len(size.Keys) || page.Blocks == 0 {
		t.Errorf("%d settings of %d, %d keys of %d, %d settings to copy", page.Settings, len(size.Tried), page.Keys, len(size.Keys), page.Blocks)
	}
}

// checkFigures compares what the page shows with the point of the grid at which its sliders stand,
// which is the wanted one, where one is.
func checkFigures(t *testing.T, b *tab, grid []advice.Point, want *advice.Point) {
	t.Helper()
	var seen struct {
		Sliders []string
		Figures map[string]string
	}
	b.eval(`({
		sliders: [...document.querySelectorAll("#sliders output")].map((e) => e.textContent),
		figures: Object.fromEntries([...document.querySelectorAll("#figures .line")].map((e) => [e.querySelector("dt").textContent, e.querySelector(".text").textContent])),
	})`, &seen)
	at := slices.IndexFunc(grid, func(p advice.Point) bool {
		return seen.Sliders[1] == fmt.Sprint(p.KeysPerUser) && seen.Sliders[2] == fmt.Sprint(p.EventsPerKey) && seen.Sliders[3] == fmt.Sprintf("%d (%s)", p.LastAtLeast, advice.Lasts(p.Setting)) &&
			seen.Sliders[4] == map[bool]string{true: "none", false: fmt.Sprintf("± %.3g %%", 100*p.Relative)}[p.Relative == 0]
	})
	if at < 0 {
		t.Fatalf("the sliders stand at %q, which was not tried", seen.Sliders)
	}
	p := &grid[at]
	if want != nil && p != want {
		t.Errorf("the sliders stand at %+v, want %+v", p.Setting, want.Setting)
	}
	for name, v := range map[string]float64{"events counted": p.Counted, "events in what is shown": p.ShownTruth, "typically from the real count": p.Typical} {
		var got float64
		if _, err := fmt.Sscanf(strings.TrimPrefix(seen.Figures[name], "<"), "%g %%", &got); err != nil || math.Abs(got/100-v) > 0.0011 {
			t.Errorf("%s is %q, want %g (%v)", name, seen.Figures[name], v, err)
		}
	}
	if keys := fmt.Sprintf("%.0f of %.0f", p.KeysShown, p.Keys); seen.Figures["keys shown"] != keys {
		t.Errorf("keys shown are %q, want %q", seen.Figures["keys shown"], keys)
	}
}
