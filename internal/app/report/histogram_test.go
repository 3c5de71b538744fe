package report

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var fiveBuckets = []int64{0, 20, 50, 100, 200, 500}

// The shares of a metric are one chart, with the buckets in the order of their edges, and with keys
// as large as their number of events.
func TestAHistogramIsOneChart(t *testing.T) {
	t.Parallel()
	s := shares(3, []string{"a", "b"}, fiveBuckets...)
	view := viewOf(t, s)
	if len(view.Sections) != 1 || len(view.Sections[0].Beside) != 1 {
		t.Fatalf("%d sections, the first with %d parts", len(view.Sections), len(view.Sections[0].Beside))
	}
	part := view.Sections[0].Beside[0]
	if part.Name != "histogram of latency" || part.Tag != "5 buckets" || part.Chart != 1 {
		t.Errorf("%q, %q, chart %d", part.Name, part.Tag, part.Chart)
	}
	if view.Sections[0].Beside[0].Silent != "" || !strings.HasPrefix(viewOf(t, shares(3, []string{"a"}, 0, 490, 495, 500)).Sections[0].Beside[0].Silent, "Nearly all values are in one bucket, below 490: ") {
		t.Error("wrong edges are not named")
	}
	value := "percentage of the values of price that lie in each bucket, and below each edge; values below 0 count as 0, and values above 500 as 500"
	if got := part.Facts[0].Text; got != value {
		t.Errorf("%q", got)
	}
	var data struct {
		Metrics []struct {
			Name  string
			Parts []partData
			Keys  []struct {
				Key   string
				Part  int
				Size  float64
				Value []int64
			}
		}
	}
	if err := json.Unmarshal(view.Data, &data); err != nil {
		t.Fatal(err)
	}
	want := []partData{
		{Name: "latency.from.0", Text: "below 20", Edges: []int64{0, 20}},
		{Name: "latency.from.20", Text: "20 to below 50", Edges: []int64{20, 50}},
		{Name: "latency.from.50", Text: "50 to below 100", Edges: []int64{50, 100}},
		{Name: "latency.from.100", Text: "100 to below 200", Edges: []int64{100, 200}},
		{Name: "latency.from.200", Text: "200 or more", Edges: []int64{200, 500}},
		{Name: "latency.below.50", Text: "below 50", Edges: []int64{0, 50}, Sum: true},
		{Name: "latency.below.100", Text: "below 100", Edges: []int64{0, 100}, Sum: true},
		{Name: "latency.below.200", Text: "below 200", Edges: []int64{0, 200}, Sum: true},
	}
	shown := data.Metrics[1]
	if diff := cmp.Diff(want, shown.Parts); diff != "" || shown.Name != "histogram of latency" {
		t.Errorf("%q: %s", shown.Name, diff)
	}
	released, events := map[string][]int64{}, map[string]float64{}
	for _, r := range s.releases {
		released[r.Metric+" "+r.Key] = append(released[r.Metric+" "+r.Key], r.Value)
		if r.Metric == "latency" {
			events[r.Key] += float64(r.Value) / unit
		}
	}
	for i, k := range shown.Keys {
		if k.Part != i/2 || k.Size < events[k.Key]-1 || k.Size > events[k.Key]+1 {
			t.Errorf("key %d: part %d, %g events of %g", i, k.Part, k.Size, events[k.Key])
		}
		if diff := cmp.Diff(released[want[k.Part].Name+" "+k.Key], k.Value); diff != "" {
			t.Error(diff)
		}
	}
}

// drawn is what a reader sees of a histogram.
type drawn struct {
	Errors, Points, Role, Window, Value, Legend, Spoken, Tip, Hidden string
	Titles, Rows                                                     []string
	Bars                                                             [][]float64
}

// seenBars moves to a window, unless it is below 0, and points at the second bucket of the first
// key. With pixels, it measures the first five bars.
const seenBars = `((window, pixels) => {
	const box = document.querySelector(".beside .chart"), canvas = box.querySelector("canvas"), slider = box.querySelector("input[type=range]");
	if (window >= 0) {
		slider.value = window;
		slider.dispatchEvent(new Event("input"));
	}
	const at = canvas.getBoundingClientRect(), ratio = devicePixelRatio, left = 52, right = at.width - 8, n = 5;
	canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: at.left + left + (right - left) * 1.5 / n, clientY: at.top + 60, bubbles: true }));
	const bars = [], picture = pixels && canvas.getContext("2d").getImageData(0, 0, canvas.width, 190 * ratio);
	for (let i = 0; pixels && i < n; i++) {
		let high = 0, dark = 0;
		for (let y = 0; y < picture.height; y++) {
			const p = 4 * (y * picture.width + Math.round((left + (right - left) * (i + 0.2) / n) * ratio)), [red, , blue] = picture.data.subarray(p, p + 3);
			if (blue - red > 20) { high++; dark = red; }
		}
		bars.push([high / ratio, dark]);
	}
	const text = (selector) => [...box.querySelectorAll(selector)].map((e) => e.textContent);
	return {
		errors: document.documentElement.dataset.errors, points: canvas.dataset.points, role: canvas.getAttribute("role"), bars, window: text("output")[0],
		value: slider.getAttribute("aria-valuetext"), hidden: String(slider.hidden), legend: text("legend")[0], tip: text(".tip")[0],
		spoken: canvas.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent).join(" "),
		titles: text(".keys input:checked ~ .name"), rows: text(".values tbody tr"),
	};
})`

func TestAHistogramInABrowser(t *testing.T) {
	browser(t)
	s := shares(3, []string{"a", "b", "c", "d"}, fiveBuckets...)
	b := browse(t, render(t, s, MaxPoints, written), desktop, "light")
	var last, first drawn
	b.eval(seenBars+"(-1, true)", &last)
	if last.Errors != "0" || last.Points != "15" || last.Role != "img" || last.Window != "2025-03-03 02:00–03:00" || last.Value != last.Window {
		t.Errorf("%s errors, %s bars, role %s, window %q, %q", last.Errors, last.Points, last.Role, last.Window, last.Value)
	}
	if last.Legend != "4 keys, number of events" || strings.Join(last.Titles, "") != "dcb" {
		t.Errorf("%q are shown of %q", last.Titles, last.Legend)
	}
	// The shares are about 20, 12, 13, 19 and 37 %, of up to 45.
	for i, share := range []float64{20, 12, 13, 19, 37} {
		if height := last.Bars[i][0] / 150; height < (share-3)/50 || height > (share+3)/40 {
			t.Errorf("bars with heights and shades %v", last.Bars)
		}
	}
	if last.Bars[0][1] <= last.Bars[1][1] {
		t.Errorf("a bar that is less exact than asked is not paler: %v", last.Bars)
	}
	checkInOrder(t, "the tooltip", last.Tip, "02:00", "d", "20 to below 50", " % to ", "as asked", "below 50", " % to ")
	checkInOrder(t, "a screen reader", last.Spoken, "Bars: percentage", "02:00–03:00: d bucket below 20: ", " % to ", "bucket 20 to below 50: ", "bucket 200 or more: ", "; c bucket below 20")
	if len(last.Rows) != 15 {
		t.Fatalf("%d rows", len(last.Rows))
	}
	for i, want := range [][]string{
		{"b", "below 20", " %less exact", "below 20: "}, {"b", "20 to below 50", " %as asked", "below 50: "}, {"b", "50 to below 100", "below 100: "},
		{"b", "100 to below 200", "below 200: "}, {"b", "200 or more"}, {"c", "below 20"},
	} {
		checkInOrder(t, "the table", last.Rows[i], append([]string{"2025-03-03 02:00–03:00"}, want...)...)
	}
	b.eval(seenBars+"(0)", &first)
	if first.Window != "2025-03-03 00:00–01:00" || len(first.Rows) != 15 || !strings.HasPrefix(first.Rows[0], first.Window) || !strings.Contains(first.Spoken, first.Window) || first.Errors != "0" {
		t.Errorf("the first window: %+v", first)
	}
}

func checkInOrder(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%s says %q, without %q in its place", what, text, part)
			return
		}
		rest = after
	}
}

// A live page that shows the last window of a histogram goes on to the next one.
func TestALiveHistogramFollows(t *testing.T) {
	browser(t)
	all := shares(4, []string{"a"}, fiveBuckets...)
	window := len(all.releases) / 4
	l := &liveServer{t: t, sample: sample{promise: all.promise}}
	l.publish(all.releases[:window]...)
	server := httptest.NewServer(l)
	defer server.Close()
	b := visit(t, server.URL+"/", desktop, "light")
	shows := func(windows int, at, want string) {
		t.Helper()
		l.await(b, want, func(s seen) bool {
			return strings.Contains(s.Text, fmt.Sprintf("All %d.", windows*window))
		})
		var d drawn
		b.eval(seenBars+at, &d)
		if d.Window != want || !strings.HasPrefix(d.Rows[0], want) || d.Hidden != map[bool]string{true: "true", false: "false"}[windows == 1] {
			t.Errorf("with %d windows the page shows %q, its slider hidden: %s", windows, d.Window, d.Hidden)
		}
	}
	shows(1, "(-1)", "2025-03-03 00:00–01:00")
	l.publish(all.releases[window : 2*window]...)
	shows(2, "(-1)", "2025-03-03 01:00–02:00")
	l.publish(all.releases[2*window : 3*window]...)
	shows(3, "(1)", "2025-03-03 01:00–02:00")
	l.publish(all.releases[3*window:]...)
	shows(4, "(-1)", "2025-03-03 01:00–02:00") // as chosen
}
