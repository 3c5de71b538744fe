package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var fiveRanks = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// The quantiles of a metric are one chart with one set of figures, whose values keep the names of
// their metrics.
func TestQuantilesAreOneChart(t *testing.T) {
	t.Parallel()
	s := ranked(3, 500, []string{"a", "b"}, fiveRanks...)
	view := viewOf(t, s)
	if len(view.Sections) != 1 || len(view.Sections[0].Beside) != 1 {
		t.Fatalf("%d sections, the first with %d parts", len(view.Sections), len(view.Sections[0].Beside))
	}
	part := view.Sections[0].Beside[0]
	if part.Name != "quantiles of latency" || part.Tag != "5 %, 25 %, 50 %, 75 %, 95 %" || part.Chart != 1 {
		t.Errorf("%q, %q, chart %d", part.Name, part.Tag, part.Chart)
	}
	want := []fact{plain("windows", "3"), plain("released values", "30"), plain("as exact as asked", "60.0 %")}
	if diff := cmp.Diff(want, part.Tiles[:3]); diff != "" {
		t.Error(diff)
	}
	wanted := "a value whose rank is off by at most 2 % is asked for, at 95 % confidence; it is reached from about 1,165 events on"
	if last := part.Facts[len(part.Facts)-1]; last.Text != wanted {
		t.Errorf("%q", last.Text)
	}
	var data struct {
		Metrics []struct {
			Lopsided bool
			Parts    []partData
			Keys     []struct {
				Key   string
				Part  int
				Value []int64
			}
		}
	}
	if err := json.Unmarshal(view.Data, &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Metrics) != 2 || data.Metrics[0].Parts != nil || len(data.Metrics[1].Parts) != 5 || !data.Metrics[1].Lopsided {
		t.Fatalf("%d charts: %+v", len(data.Metrics), data.Metrics)
	}
	released := map[string][]int64{}
	for _, r := range s.releases {
		released[r.Metric+" "+r.Key] = append(released[r.Metric+" "+r.Key], r.Value)
	}
	for i, k := range data.Metrics[1].Keys {
		part := data.Metrics[1].Parts[k.Part]
		if part.Quantile != fiveRanks[i/2] {
			t.Errorf("%s is of rank %v", part.Name, part.Quantile)
		}
		if diff := cmp.Diff(released[part.Name+" "+k.Key], k.Value); diff != "" {
			t.Error(diff)
		}
	}
}

// Values that are not kept are summed up once, in the figures of all quantiles.
func TestFiguresOfQuantilesHaveValuesThatAreNotKept(t *testing.T) {
	t.Parallel()
	s := ranked(40, 500, []string{"a", "b"}, fiveRanks...)
	c := newCollector(s.promise, 60)
	for _, r := range s.releases {
		c.Add(r)
	}
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // making a page leaves the values as they are
		view, err := c.page(written, a)
		if err != nil {
			t.Fatal(err)
		}
		part := view.Sections[0].Beside[0]
		if diff := cmp.Diff([]fact{plain("windows", "40"), plain("released values", "400")}, part.Tiles[:2]); diff != "" {
			t.Error(diff)
		}
		if !strings.HasPrefix(part.Partial, "Charts and table show 50 of 400 released values: those of the newest 5 windows") {
			t.Errorf("%q", part.Partial)
		}
	}
}

func viewOf(t *testing.T, s sample) *page {
	t.Helper()
	c := newCollector(s.promise, MaxPoints)
	for _, r := range s.releases {
		c.Add(r)
	}
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	view, err := c.page(written, a)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func TestQuantilesInABrowser(t *testing.T) {
	browser(t)
	for _, tc := range []struct {
		name   string
		sample sample
		shades int // of the first panel's fills
		legend string
		said   string
		tip    []string
	}{
		{"bands", ranked(24, 500, []string{""}, fiveRanks...), 2, "5 %25 %50 %75 %95 %", "Bands lie between quantiles: 5 % to 95 %, then darker 25 % to 75 %.", []string{"95 %", "75 %", "50 %", "25 %", "5 %"}},
		{"not symmetric", ranked(24, 5000, []string{"k"}, 0.5, 0.95, 0.99), 1, "50 %95 %99 %", "The space between two quantiles is shaded.", []string{"99 %", "95 %", "50 %"}},
		{"below zero", ranked(300, -600, []string{""}, fiveRanks...), 2, "5 %25 %50 %75 %95 %", "Bands lie", []string{"95 %", "75 %", "50 %", "25 %", "5 %"}},
		{"two windows", ranked(2, 500, []string{"a", "b", "c", "d"}, fiveRanks...), 2, "d5 %25 %50 %75 %95 %", "Bands lie", []string{"d", "95 %", "75 %", "50 %", "25 %", "5 %"}},
		{"one quantile", ranked(24, 500, []string{"a", "b"}, 0.5), 1, "b", "A value between the quantiles of 48 % and 52 % is asked for", []string{"95 % interval", "b", "a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen struct {
				Errors, Tip, Spoken, Said, Legend string
				Shades, Points                    int
			}
			b := browse(t, render(t, tc.sample, MaxPoints, written), desktop, "light")
			b.eval(`(() => {
				const box = document.querySelector(".beside .chart"), canvas = box.querySelector("canvas"), ratio = window.devicePixelRatio;
				const seen = { points: +canvas.dataset.points };
				const pixels = canvas.getContext("2d").getImageData(60 * ratio, 0, 500 * ratio, 200 * ratio).data, colours = new Map();
				for (let i = 0; i < pixels.length; i += 4) {
					const [r, g, b] = pixels.subarray(i, i + 3);
					if (b > 150 && b - r > 8) colours.set(r << 16 | g << 8 | b, 1 + (colours.get(r << 16 | g << 8 | b) || 0));
				}
				seen.shades = [...colours].filter(([c, n]) => n > 4000 && c >> 16 > 0x60).length;
				const at = canvas.getBoundingClientRect();
				canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: at.left + at.width / 2, clientY: at.top + 40, pointerType: "touch", bubbles: true }));
				seen.tip = box.querySelector(".tip").textContent;
				canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
				seen.spoken = box.querySelector("[aria-live].quiet").textContent;
				seen.said = document.getElementById(canvas.getAttribute("aria-describedby").split(" ")[0]).textContent;
				seen.legend = [...box.querySelector(".legend li").querySelectorAll("bdi, .soft")].map((e) => e.textContent).join("");
				seen.errors = document.documentElement.dataset.errors;
				return seen;
			})()`, &seen)
			if seen.Errors != "0" || seen.Points == 0 {
				t.Errorf("%s errors, %d points", seen.Errors, seen.Points)
			}
			if seen.Shades != tc.shades {
				t.Errorf("%d shades, want %d", seen.Shades, tc.shades)
			}
			rest := seen.Tip
			for _, part := range tc.tip {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("the tooltip says %q, without %q in its place", seen.Tip, part)
				}
				rest = after
			}
			if !strings.Contains(seen.Tip, " to ") || strings.Contains(seen.Tip, "±") {
				t.Errorf("the tooltip says %q, without intervals", seen.Tip)
			}
			if !strings.Contains(seen.Said, tc.said) || !strings.HasPrefix(seen.Legend, tc.legend) {
				t.Errorf("legend %q, text %q", seen.Legend, seen.Said)
			}
			if len(tc.tip) == 5 && strings.Count(seen.Spoken, "quantile ") != 5 {
				t.Errorf("a screen reader hears %q", seen.Spoken)
			}
		})
	}
}
