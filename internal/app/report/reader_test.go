package report

import (
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// noisy is a page with one value of a metric.
func noisy(kind, key string, value, margin float64) sample {
	m := facts("views", kind, pipeline.KeysPublic, hour, hour)
	return sample{promise: promiseFor(m), releases: []schemas.Release{{
		Metric: "views", WindowStart: monday, WindowEnd: monday + hour, Key: key, Value: int64(value * unit),
		StdDev: margin / 1.96,
		Low:    value - margin, High: value + margin, Confidence: 0.95, Rungs: 3, NoiseKeyID: "k1", Turn: 1,
	}}}
}

// For a screen reader, every chart, table, list and control has a name, every table a caption and
// heads with a scope, and a chart says how it is used.
func TestPagesAreLabelled(t *testing.T) {
	browser(t)
	b := browse(t, render(t, mixed(), MaxPoints, written), desktop, "light")
	var wrong []string
	b.eval(`(() => {
				const wrong = [], note = (e, what) => wrong.push(what + ": " + e.outerHTML.slice(0, 120));
				const named = (e) => e.getAttribute("aria-label") || e.labels && e.labels.length
					|| e.textContent.trim() && e.tagName === "BUTTON"
					|| (e.getAttribute("aria-labelledby") || "").split(" ").every((id) => document.getElementById(id))
					&& e.hasAttribute("aria-labelledby");
				const controls = "select, input, button, [role=region], [role=application], [role=group], nav";
				for (const e of document.querySelectorAll(controls))
					if (!named(e)) note(e, "no name");
				for (const e of document.querySelectorAll("[aria-describedby]"))
					for (const id of e.getAttribute("aria-describedby").split(" "))
						if (!document.getElementById(id)?.textContent) note(e, "no description " + id);
				for (const e of document.querySelectorAll(".picture"))
					if (!e.hasAttribute("aria-describedby")) note(e, "no description");
				const captions = new Set();
				for (const table of document.querySelectorAll("table")) {
					const caption = table.caption?.textContent;
					if (!caption || captions.has(caption)) note(table, "no caption of its own");
					captions.add(caption);
					for (const th of table.querySelectorAll("th"))
						if (!th.scope || !th.textContent) note(th, "no scope, or empty");
					for (const tr of table.querySelectorAll("tbody tr"))
						if (!tr.querySelector("th[scope=row]")) note(tr, "no head of the row");
				}
				return wrong;
			})()`, &wrong)
	for _, what := range wrong {
		t.Error(what)
	}
}

// A page is known as such, also one that an earlier version wrote.
func TestAPageIsKnown(t *testing.T) {
	for text, want := range map[string]bool{
		render(t, pages(), MaxPoints, written): true,
		"<!DOCTYPE html>\n<p>mine</p>":         false, "user,page\n": false,
		`x <div id="scheme" class="scheme"></div>`: false,
	} {
		if head := []byte(text[:min(len(text), 64<<10)]); (PageKind{}).Wrote(head) != want {
			t.Errorf("%.40q is a page: %t", text, !want)
		}
	}
}
