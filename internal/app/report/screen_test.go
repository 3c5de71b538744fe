package report

import (
	"math"
	"strings"
	"testing"
)

// The first screen of a phone has a whole chart, of a page with a mark and a list of metrics as
// well, and no page is wider than the phone.
func TestAPhoneShowsAChartAtOnce(t *testing.T) {
	marked := written
	marked.Mark, marked.Source = "Made-up data: the events were invented for this demo.",
		"counts topic counts, what this run published"
	for name, s := range map[string]sample{"pages": pages(), "mixed": mixed(), "hostile": hostile(),
		"many": many(500, 100)} {
		t.Run(name, func(t *testing.T) {
			b := browse(t, render(t, s, MaxPoints, marked), phone, "light")
			var seen struct{ Wide, Top, Bottom, Drawn float64 }
			b.eval(`(() => {
				const box = document.querySelector(".picture").getBoundingClientRect();
				return { wide: document.documentElement.scrollWidth, top: box.top, bottom: box.bottom,
					drawn: +document.querySelector(".picture").dataset.points };
			})()`, &seen)
			if seen.Wide > float64(phone.Width) {
				t.Errorf("the page is %g pixels wide on a phone of %d", seen.Wide, phone.Width)
			}
			if seen.Top < 0 || seen.Bottom > float64(phone.Height) || seen.Drawn == 0 {
				t.Errorf("the chart lies from %g to %g of %d pixels", seen.Top, seen.Bottom, phone.Height)
			}
		})
	}
}

// largePage is how many bytes such a page may have.
const largePage = 2_000_000

// BenchmarkLargePage shows 500 keys in 100 windows: bytes of the page, milliseconds to the first
// paint of its contents and until the script is done, and to sort all values by each column of the
// table and see them, of the best round each: what else runs on a machine only adds. It fails
// beyond 2 MB; the aims for times are 1 s and 0.2 s.
func BenchmarkLargePage(b *testing.B) {
	browser(b)
	html := render(b, many(500, 100), MaxPoints, written)
	type times struct {
		Paint, Ready, Sort float64
		Rows               string
	}
	best := times{math.Inf(1), math.Inf(1), math.Inf(1), ""}
	for b.Loop() {
		var seen times
		page := browse(b, html, desktop, "light")
		page.eval(`(async () => {
			const paint = await new Promise((done) => new PerformanceObserver((list) => {
				for (const e of list.getEntries()) if (e.name === "first-contentful-paint") done(e.startTime);
			}).observe({ type: "paint", buffered: true }));
			const ready = performance.getEntriesByType("navigation")[0].domComplete;
			const scope = document.querySelector("details select");
			const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			scope.value = "all";
			scope.dispatchEvent(new Event("change"));
			document.querySelector("#scheme input").click();
			await frame();
			let sort = 0;
			for (const head of document.querySelectorAll("th button")) {
				for (let twice = 0; twice < 2; twice++) {
					const began = performance.now();
					head.click();
					document.body.offsetHeight;
					sort = Math.max(sort, performance.now() - began);
					await frame();
				}
			}
			return { paint, ready, sort, rows: document.querySelector(".pages span").textContent };
		})()`, &seen)
		if !strings.HasSuffix(seen.Rows, "of 50,000") {
			b.Fatalf("sorted were %s", seen.Rows)
		}
		best = times{min(best.Paint, seen.Paint), min(best.Ready, seen.Ready), min(best.Sort, seen.Sort), seen.Rows}
	}
	b.ReportMetric(float64(len(html)), "bytes")
	b.ReportMetric(best.Paint, "ms-to-paint")
	b.ReportMetric(best.Ready, "ms-to-ready")
	b.ReportMetric(best.Sort, "ms-to-sort")
	b.ReportMetric(0, "ns/op")
	if len(html) > largePage {
		b.Errorf("the page has %d bytes", len(html))
	}
}
