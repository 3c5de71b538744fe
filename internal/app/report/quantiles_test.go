package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	fiveRanks   = []float64{0.05, 0.25, 0.5, 0.75, 0.95}
	fiveBuckets = []int64{0, 20, 50, 100, 200, 500}
)

// Values that are not kept are summed up once, in the figures of all quantiles.
func TestFiguresOfQuantilesHaveValuesThatAreNotKept(t *testing.T) {
	t.Parallel()
	s := ranked(40, 500, []string{"a", "b"}, fiveRanks...)
	c := newCollector(s.promise, 60)
	for _, r := range s.releases {
		c.Add(r)
	}
	for range 2 { // making a page leaves the values as they are
		view, err := c.page(written)
		if err != nil {
			t.Fatal(err)
		}
		part := view.Sections[0]
		if diff := cmp.Diff([]fact{plain("windows", "40"), plain("released values", "400")}, part.Tiles[:2]); diff !=
			"" {
			t.Error(diff)
		}
		if !strings.HasPrefix(part.Partial, "Charts and table show 50 of 400 released values: those of the newest 5 "+
			"windows") {
			t.Errorf("%q", part.Partial)
		}
	}
}
