package report

import (
	"encoding/json"
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
	part := view.Sections[0]
	if part.Name != "histogram of latency" || part.Tag != "5 buckets" || part.Chart != 1 {
		t.Errorf("%q, %q, chart %d", part.Name, part.Tag, part.Chart)
	}
	if view.Sections[0].Silent != "" || !strings.HasPrefix(viewOf(t, shares(3, []string{"a"}, 0, 490, 495, 500)).Sections[0].Silent, "Nearly all values are in one bucket, below 490: ") {
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
