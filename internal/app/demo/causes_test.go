package demo

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// Where nothing was released, the value of a bound that is named brings the largest count to the
// threshold that it has with this bound, and the next value does not.
func TestABoundIsRaisedAsFarAsKeysAreReleased(t *testing.T) {
	pattern := regexp.MustCompile(`allows a user in a window: ([\d,]+) (would keep 95 %, at the cost of more noise; |is the greatest value that does not hide all keys: )the largest count`)
	for _, c := range []struct {
		name     string
		crawlers int // users of 400 pages each, beside 200 users of 10
		lesser   bool
	}{{"the value that keeps 95 %", 0, false}, {"a lesser one", 10, true}} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("user,page,when\n")
			lines := 0
			visit := func(user string, pages int) {
				for page := range pages {
					fmt.Fprintf(&b, "%s,%s-%d,%s\n", user, strings.TrimRight(user, "0123456789"), page, march.Format(time.RFC3339))
					lines++
				}
			}
			for i := range 200 {
				visit(fmt.Sprintf("u%d", i), 10)
			}
			for i := range c.crawlers {
				visit(fmt.Sprintf("crawler%d", i), 400)
			}
			s := settings()
			s.MaxKeysPerUser, s.MaxEventsPerKey, s.LastAtLeast = 1, 1, 1
			tallies := pipeline.Tallies{Read: uint64(lines), Accepted: uint64(lines)}
			clipped := uint64(lines - 200 - c.crawlers)
			tallies.Metrics = []pipeline.MetricTallies{{Metric: MetricName, Clipped: clipped, ClippedKeys: clipped}}
			causes, err := Causes(s, open(t, options(write(t, b.String()))), Result{Turns: 1, Tallies: tallies}, 0)
			if err != nil || len(causes) == 0 {
				t.Fatalf("%q, %v", causes, err)
			}
			found := pattern.FindStringSubmatch(causes[0])
			if found == nil || strings.HasPrefix(found[2], "is the greatest") != c.lesser {
				t.Fatalf("%q", causes)
			}
			value, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			reaches := func(value int) bool {
				s.MaxKeysPerUser = value
				l, err := s.limits()
				if err != nil {
					t.Fatal(err)
				}
				kept := min(1, float64(value)/10)
				z := (200*kept - l.tau) / math.Sqrt(200*kept*(1-kept)+l.sigma*l.sigma)
				return 10*math.Log(math.Erfc(z/math.Sqrt2)/2) <= sureOf // each of ten pages
			}
			if !reaches(value) || c.lesser && reaches(value+1) {
				t.Errorf("%d is not the greatest value: %q", value, causes)
			}
		})
	}
}
