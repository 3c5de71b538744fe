package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// noisy is a page with one value of a metric.
func noisy(kind, key string, value, margin float64) sample {
	m := facts("views", kind, pipeline.KeysPublic, hour, hour)
	return sample{promise: promiseFor(m), releases: []schemas.Release{{
		Metric: "views", WindowStart: monday, WindowEnd: monday + hour, Key: key, Value: int64(value * unit), StdDev: margin / 1.96,
		Low: value - margin, High: value + margin, Confidence: 0.95, Rungs: 3, NoiseKeyID: "k1", Turn: 1,
	}}}
}

// A value has no digits that its noise makes meaningless, thousands are grouped, ± is called noise,
// and a sentence quotes a key that reads as a number.
func TestValuesReadAsPeopleWriteThem(t *testing.T) {
	browser(t)
	for _, tc := range []struct {
		kind, key     string
		value, margin float64
		legend, said  string
	}{
		{"events", "42", 12345.6, 7.3, "4212,346noise ± 7", `"42" 12,346, noise ± 7`},
		{"events", "/home", -3.2, 0.4, "/home-3.2noise ± 0.4", "/home -3.2, noise ± 0.4"},
		{"sum", "2024-05", 1e6, 1e4, "2024-051,000,000noise ± 10,000", `"2024-05" 1,000,000, noise ± 10,000`},
		{"mean", "a1", 4.234, 1.21, "a14.2noise ± 1.2", "a1 4.2, noise ± 1.2"},
		{"standard_deviation", "a1", 12.343, 0.312, "a112.34noise ± 0.31", "a1 12.34, noise ± 0.31"},
		{"variance", "a1", 15234.4, 812.7, "a115,234noise ± 813", "a1 15,234, noise ± 813"},
	} {
		t.Run(tc.kind+" "+tc.key, func(t *testing.T) {
			b := browse(t, render(t, noisy(tc.kind, tc.key, tc.value, tc.margin), MaxPoints, written), desktop, "light")
			var seen struct{ Legend, Said, Row, Head string }
			b.eval(`(() => {
				const canvas = document.querySelector("canvas"), text = (selector) => document.querySelector(selector).textContent;
				canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
				return { legend: text(".legend li"), said: text("[aria-live=polite].quiet"), row: text("tbody tr"), head: text(".values thead") };
			})()`, &seen)
			value, noise, _ := strings.Cut(strings.TrimPrefix(tc.legend, tc.key), "noise ")
			if seen.Legend != tc.legend || !strings.Contains(seen.Said, ": "+tc.said) || !strings.Contains(seen.Row, tc.key+value+noise) {
				t.Errorf("the page shows %+v", seen)
			}
			if !strings.Contains(seen.Head, "noise ±") {
				t.Errorf("the table has the columns %q", seen.Head)
			}
		})
	}
}

// The list of keys has the mean of a key's means, and the sum of its counts. Where events have
// keys, the empty one is not called all together.
func TestTheListOfKeysSaysWhatItsFiguresAre(t *testing.T) {
	browser(t)
	for kind, want := range map[string]string{"mean": "2 keys, mean of values|(empty)|4|b|3", "sum": "2 keys, sum of values|(empty)|8|b|6"} {
		s := noisy(kind, "", 3, 1)
		s.promise.metrics[0].keyed = true
		for _, more := range []schemas.Release{noisy(kind, "b", 3, 1).releases[0], noisy(kind, "", 5, 1).releases[0], noisy(kind, "b", 3, 1).releases[0]} {
			if len(s.releases) > 1 {
				more.WindowStart, more.WindowEnd, more.Turn = more.WindowStart+hour, more.WindowEnd+hour, 2
			}
			s.releases = append(s.releases, more)
		}
		var said string
		browse(t, render(t, s, MaxPoints, written), desktop, "light").eval(
			`[...document.querySelectorAll("fieldset.several legend, .keys .name, .keys .size")].map((e) => e.textContent).join("|")`, &said)
		if said != want {
			t.Errorf("%s: the list says %q, want %q", kind, said, want)
		}
	}
}

// A name that is too long shows its end, and says all of it.
func TestLongNamesShowBothEnds(t *testing.T) {
	browser(t)
	var said string
	key := "/category/" + strings.Repeat("of-products/", 5) + "51/index.html"
	s := noisy("events", key, 3, 1)
	s.releases = append(s.releases, noisy("events", "other", 3, 1).releases...)
	browse(t, render(t, s, MaxPoints, written), desktop, "light").eval(`(() => {
		const name = document.querySelector(".keys .name") , box = name.getBoundingClientRect(), end = name.lastChild.getBoundingClientRect();
		return [name.title, name.firstChild.scrollWidth > name.firstChild.clientWidth, end.right <= box.right + 1, name.lastChild.textContent].join("|");
	})()`, &said)
	if want := key + "|true|true|/51/index.html"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

// An axis from zero reaches below zero only as far as the values do.
func TestAxesAreNotStretchedBySmallNegativeValues(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("page", "scale.js"))
	if err != nil {
		t.Fatal(err)
	}
	b := browse(t, render(t, pages(), MaxPoints, written), desktop, "light")
	for _, tc := range []struct {
		low, high float64
		zero      string // where it lies, in per cent from the lower end
		ticks     string
	}{
		{0, 12_000, "0", "0,2500,5000,7500,10000,12500"},
		{-10, 12_000, "0", "0,2500,5000,7500,10000,12500"},
		{-9000, 30, "100", "-10000,-8000,-6000,-4000,-2000,0"},
		{-5000, 12_000, "25", "-5000,0,5000,10000,15000"},
		{-0.4, 0.4, "50", "-0.4,-0.2,0,0.2,0.4"},
		{100, 110, "-1000", "100,102,104,106,108,110"},
	} {
		var got struct {
			Zero  float64
			Ticks []float64
		}
		b.eval(fmt.Sprintf(`(() => { const day = 86400e3; %s; const s = linear(%v, %v); return { zero: s.map(0), ticks: s.ticks }; })()`, script, tc.low, tc.high), &got)
		if zero, ticks := fmt.Sprintf("%.0f", 100*got.Zero), strings.ReplaceAll(strings.Trim(fmt.Sprint(got.Ticks), "[]"), " ", ","); zero != tc.zero || ticks != tc.ticks {
			t.Errorf("from %v to %v: zero at %s %%, ticks %s; want %s %%, %s", tc.low, tc.high, zero, ticks, tc.zero, tc.ticks)
		}
	}
}

// What a screen reader is told: every chart, table, list and control has a name, every table a
// caption and heads with a scope, and a chart says how it is used.
func TestPagesAreLabelled(t *testing.T) {
	browser(t)
	var document strings.Builder
	d := Document{Title: "Tables", Tables: []DocumentTable{{Title: "Counts", Columns: []string{"method", "error"}, Rows: [][]string{{"ours", "1 %"}}}}}
	if err := d.Write(&document); err != nil {
		t.Fatal(err)
	}
	for name, html := range map[string]string{"mixed": render(t, mixed(), MaxPoints, written), "document": document.String()} {
		t.Run(name, func(t *testing.T) {
			b := browse(t, html, desktop, "light")
			var wrong []string
			b.eval(`(() => {
				const wrong = [], note = (e, what) => wrong.push(what + ": " + e.outerHTML.slice(0, 120));
				const named = (e) => e.getAttribute("aria-label") || e.labels && e.labels.length || e.textContent.trim() && e.tagName === "BUTTON"
					|| (e.getAttribute("aria-labelledby") || "").split(" ").every((id) => document.getElementById(id)) && e.hasAttribute("aria-labelledby");
				for (const e of document.querySelectorAll("select, input, button, [role=region], [role=application], [role=group], nav")) if (!named(e)) note(e, "no name");
				for (const e of document.querySelectorAll("[aria-describedby]")) for (const id of e.getAttribute("aria-describedby").split(" ")) if (!document.getElementById(id)?.textContent) note(e, "no description " + id);
				for (const e of document.querySelectorAll("canvas:not([aria-hidden])")) if (!e.hasAttribute("aria-describedby")) note(e, "no description");
				const captions = new Set();
				for (const table of document.querySelectorAll("table")) {
					const caption = table.caption?.textContent;
					if (!caption || captions.has(caption)) note(table, "no caption of its own");
					captions.add(caption);
					for (const th of table.querySelectorAll("th")) if (!th.scope || !th.textContent) note(th, "no scope, or empty");
					for (const tr of table.querySelectorAll("tbody tr")) if (!tr.querySelector("th[scope=row]")) note(tr, "no head of the row");
				}
				return wrong;
			})()`, &wrong)
			for _, what := range wrong {
				t.Error(what)
			}
		})
	}
}

// How much of each user counts stands above the chart.
func TestBoundsStandAboveTheChart(t *testing.T) {
	html := render(t, pages(), MaxPoints, written)
	bounds, chart := strings.Index(html, "Of each user, at most 2 keys per window and 3 events per key count."), strings.Index(html, `<div class="chart"`)
	if bounds < 0 || bounds > chart {
		t.Errorf("bounds at %d, the chart at %d", bounds, chart)
	}
	if facts("v", "distinct_users", pipeline.KeysPublic, hour, hour).bounds() != "Of each user, at most 2 keys per window count." {
		t.Error("a bound of events is said of a metric that has none")
	}
}

// A page is known as such, also one that an earlier version wrote, but not one that was for the
// trusted side.
func TestAPageIsKnownByItsAudience(t *testing.T) {
	var document strings.Builder
	if err := (&Document{Title: "Tables"}).Write(&document); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		render(t, pages(), MaxPoints, written): true, document.String(): true,
		"<!DOCTYPE html>\n<div id=\"scheme\" class=\"scheme\"></div><div id=\"sliders\" class=\"sliders\"></div>": false,
		"<!DOCTYPE html>\n<p>mine</p>": false, "user,page\n": false, `x <div id="scheme" class="scheme"></div>`: false,
	} {
		if head := []byte(text[:min(len(text), 64<<10)]); Public.Wrote(head) != want {
			t.Errorf("%.40q is public: %t", text, !want)
		}
	}
}
