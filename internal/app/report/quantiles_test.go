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
	part := view.Sections[0]
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
		part := view.Sections[0]
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
