package commands

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// purchases writes a CSV file of what people spend on four days, in two places, and returns the
// sums by day and place. One purchase in 20 is given back; a few are very large.
func purchases(t *testing.T) (path string, sums map[string]float64) {
	t.Helper()
	var b strings.Builder
	b.WriteString("when,who,where,cents\n")
	sums = map[string]float64{}
	random := rand.New(runseed.PCG(t, 1, 2))
	for i := range 12_000 {
		at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 4 * 24 * time.Hour / 12_000)
		cents := math.Round(math.Exp(6 + random.NormFloat64()))
		if random.IntN(20) == 0 {
			cents = -cents
		}
		where := []string{"north", "south"}[random.IntN(2)]
		fmt.Fprintf(&b, "%s,person-%d,%s,%.0f\n", at.Format(time.RFC3339), random.IntN(5000), where, cents)
		sums[at.Format(time.DateOnly)+where] += cents
	}
	return write(t, "purchases.csv", b.String()), sums
}

// The block that is recommended for a sum, range and all, gives with the product what plan says: as
// much is counted, and values are as far from the true sums, over six deployments with noise of
// their own (48 errors; the false-reject rate is below 1e-6). A protected choice of the same is of
// use, too.
func TestPlanOfASumGivesWhatItSays(t *testing.T) {
	t.Parallel()
	long.Test(t)
	const runs = 6
	addr := broker(t)
	csv, truth := purchases(t)
	metric := "  - name: views\n    window: {size: 1d}\n"
	file := func(name, with string) string {
		return deploymentFile(t, addr, "deployment: shop", "deployment: "+name, "columns: [when, who, where]", "columns: [when, who, where, cents]",
			"time: when}", "time: when, value: cents}", "{absolute: 30}", "{absolute: 100000}", "list: [north, south, west]", "list: [north, south]", metric, with)
	}
	first := file("first", metric+"    kind: sum\n    bounds: {max: 100}\n")
	mustRun(t, "init", "--create-topics", "--event-partitions", "2", "--generate-keys", "--config", first)
	mustRun(t, "replay", "--config", first, "--input", csv, "--header")
	plan := func(cfg string, args ...string) (a advice.Advice) {
		stdout, _ := mustRun(t, append([]string{"plan", "--config", cfg, "--format", "json", "--last-at-least", "4"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	averaged := plan(file("averaged", metric+"    kind: mean\n    bounds: {min: -10, max: 10}\n")).Block
	if p := averaged.Point; p.Typical > 0.6 || p.Max <= p.Min || !strings.Contains(averaged.Sentence, "from the real mean") || !strings.Contains(averaged.YAML, fmt.Sprintf("max: %d}", p.Max)) {
		t.Errorf("of a mean: %+v\n%s", p, averaged.YAML)
	}
	a := plan(first)
	p := a.Block.Point
	if p.Max == 0 || p.Min >= 0 || p.Counted < 0.8 || p.ShownTruth != 1 {
		t.Errorf("a block of %+v", p)
	}
	block := strings.Replace(a.Block.YAML, "  - name: views\n", "  - name: views\n    kind: sum\n", 1)
	block = strings.Replace(block, "    last_at_least: 4\n", "", 1)
	block = block[:strings.Index(block, "    target:")]
	var wrong, squares float64
	for i := range runs {
		cfg := file(fmt.Sprint("other", i), block)
		mustRun(t, "init", "--create-topics", "--generate-keys", "--start", "2025-03-01T00:00:00Z", "--config", cfg)
		stdout, _ := mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m", "--format", "json")
		seen := 0
		for _, r := range parse(t, stdout) {
			of, ok := truth[r.WindowStart.Format(time.DateOnly)+r.Key]
			if !ok {
				continue // of the days after the file
			}
			e := math.Abs(r.Value - of)
			wrong += e / (8 * runs)
			squares += e * e / (8 * runs)
			seen++
		}
		if seen != 8 {
			t.Fatalf("%d values: %s", seen, stdout)
		}
	}
	se := math.Sqrt(squares-wrong*wrong) * math.Sqrt(1./(8*runs)+1./(8*20))
	t.Logf("%s: error %.0f ± %.0f, forecast %.0f", advice.BoundsText(p.Setting), wrong, se, p.Error)
	if wrong == 0 || math.Abs(wrong-p.Error) > 6*se {
		t.Errorf("values are wrong by %.0f ± %.0f, forecast %.0f", wrong, se, p.Error)
	}
}
