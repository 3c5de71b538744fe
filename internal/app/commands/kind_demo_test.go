package commands

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// orders writes a file of users with two orders each, of 30 and of 50, for the key home; every
// tenth user has one of 7 for the key other as well.
func orders(t testing.TB, users int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("user,page,when,amount\n")
	for u := range users {
		fmt.Fprintf(&b, "u%d,home,2025-03-03T00:%02d:00Z,30\nu%d,home,2025-03-03T01:%02d:00Z,50\n", u, u%60, u, u%60)
		if u%10 == 0 {
			fmt.Fprintf(&b, "u%d,other,2025-03-03T02:%02d:00Z,7\n", u, u%60)
		}
	}
	return write(t, "orders.csv", b.String())
}

const ofOrders = "--header --user-field user --time-field when --window 1d"

// A histogram of a file has the shares of its values, with edges that are listed, or divide the
// range by a scale.
func TestDemoReleasesShares(t *testing.T) {
	t.Parallel()
	long.Test(t)
	path := orders(t, 500)
	const args = ofOrders + " --kind histogram --value-field amount --max-keys-per-user 2 --max-events-per-key 3 --last-at-least 1 --absolute 0 --epsilon 50 --format json"
	for edges, want := range map[string]map[string]float64{ // of 500 values of 30, 500 of 50 and 50 of 7
		"--edges 0,10,40,60":                                {"from.0": 50 / 10.5, "from.10": 500 / 10.5, "from.40": 500 / 10.5, "below.40": 550 / 10.5},
		"--min 0 --max 60 --buckets 3":                      {"from.0": 50 / 10.5, "from.20": 500 / 10.5, "from.40": 500 / 10.5, "below.40": 550 / 10.5},
		"--min 1 --max 100 --buckets 2 --scale logarithmic": {"from.1": 50 / 10.5, "from.10": 1000 / 10.5},
	} {
		stdout, stderr := mustRun(t, append([]string{"demo", "--input", path}, strings.Fields(args+" "+edges)...)...)
		for name, share := range want {
			got := math.NaN()
			for line := range strings.Lines(stdout) {
				if strings.Contains(line, `"metric":"events.`+name+`"`) {
					_, after, _ := strings.Cut(line, `"value":`)
					fmt.Sscan(strings.SplitN(after, ",", 2)[0], &got) //nolint:errcheck // NaN is wrong
				}
			}
			if !(math.Abs(got-share) <= 1.5) { // more than 10 standard deviations of the noise
				t.Errorf("%s: %s is %v, want %v: %s", edges, name, got, share, stdout)
			}
		}
		if !strings.Contains(stderr, "compared with the file: the share of a bucket is typically off by ") ||
			strings.Contains(stderr, "compared with the file: the share below an edge is typically off by ") != (want["below.40"] > 0) {
			t.Errorf("%s: %s", edges, stderr)
		}
	}
}

func TestDemoCountsEveryKind(t *testing.T) {
	t.Parallel()
	path := orders(t, 500)
	bounds := " --max-keys-per-user 2 --last-at-least 1 --relative 0 --epsilon 50 --public-keys home,other --key-field page --format json"
	for _, c := range []struct {
		args        string
		home, other float64
		within      float64 // more than 20 standard deviations of the noise
	}{
		{"--kind events --max-events-per-key 2", 1000, 50, 10},
		{"--kind distinct_users", 500, 50, 10},
		{"--kind sum --value-field amount --max-events-per-key 2 --min 0 --max 60", 40_000, 350, 600},
		{"--kind sum --value-field amount --max-events-per-key 2 --min 0 --max 40", 35_000, 350, 400}, // 50 counts as 40
		{"--kind mean --value-field amount --max-events-per-key 2 --min 0 --max 60", 40, 7, 15},
		{"--kind variance --value-field amount --max-events-per-key 2 --min 0 --max 60 --epsilon 500", 100, 0, 60},
		{"--kind standard_deviation --value-field amount --max-events-per-key 2 --min 0 --max 60 --epsilon 500", 10, 0, 8},
	} {
		if c.other < 350 && !long.On() {
			continue
		}
		stdout, stderr := mustRun(t, append([]string{"demo", "--input", path}, strings.Fields(ofOrders+bounds+" "+c.args)...)...)
		for key, want := range map[string]float64{"home": c.home, "other": c.other} {
			got := math.NaN()
			for line := range strings.Lines(stdout) {
				if _, after, found := strings.Cut(line, `"key":"`+key+`","value":`); found {
					fmt.Sscan(strings.SplitN(after, ",", 2)[0], &got) //nolint:errcheck // NaN is wrong
				}
			}
			if !(math.Abs(got-want) <= c.within) {
				t.Errorf("%s: %s is %v, want %v: %s", c.args, key, got, want, stdout)
			}
		}
		if !strings.Contains(stderr, "compared with the file: typically") {
			t.Errorf("%s: %s", c.args, stderr)
		}
	}
}

// No user of 4,000 has a value above 63, which the noisy table of values shows: the noise of one
// row is less than a tenth of them. In about one run in 500, the noise of one of 65 empty rows is
// so high that a wider range is chosen; all of three runs choose one in fewer than one case in
// 10^8.
func TestDemoChoosesTheRangeOfValues(t *testing.T) {
	t.Parallel()
	long.Test(t)
	path := orders(t, 4000)
	for try := 1; ; try++ {
		_, stderr := mustRun(t, append([]string{"demo", "--input", path, "--kind", "mean", "--value-field", "amount", "--format", "json"}, strings.Fields(ofOrders)...)...)
		if strings.Contains(stderr, "values below 0 or above 64 count as these") {
			break
		}
		if try == 3 {
			t.Error(stderr)
			break
		}
	}
	_, stderr := mustRun(t, append([]string{"demo", "--input", path, "--kind", "sum", "--value-field", "amount", "--format", "json"}, strings.Fields(ofOrders)...)...)
	if !strings.Contains(stderr, "values below 0 or above ") || strings.Contains(stderr, "above 1 count") || !strings.Contains(stderr, "from the real sum") {
		t.Error(stderr)
	}
}

// Prices with decimals are rounded to cents; bounds and results are in cents, and texts say so.
func TestValuesWithDecimals(t *testing.T) {
	t.Parallel()
	long.Test(t)
	var b strings.Builder
	b.WriteString("user,when,price\n")
	for i := range 6000 {
		fmt.Fprintf(&b, "u%d,2025-03-03T00:%02d:00Z,%d.345\n", i, i%60, 11+i%3)
	}
	path := write(t, "prices.csv", b.String())
	args := strings.Fields("--kind mean --value-field price --decimals 2 --header --user-field user --time-field when --window 1d --min 1000 --max 1500 --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --epsilon 50")
	report := filepath.Join(t.TempDir(), "report.html")
	stdout, stderr := mustRun(t, append([]string{"demo", "--input", path, "--format", "json", "--report", report}, args...)...)
	var r struct{ Value float64 }
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Value < 1215 || r.Value > 1255 {
		t.Errorf("a mean of %v, %v; it is 1235 cents", r.Value, err)
	}
	page, err := os.ReadFile(report)
	if want := "in units of 0.01"; err != nil || !strings.Contains(string(page), "price is "+want) || !strings.Contains(stderr, "values of price are "+want) {
		t.Errorf("nothing says %q: %v\n%s", want, err, stderr)
	}
	stdout, _ = mustRun(t, append([]string{"plan", "--input", path}, args...)...)
	if !strings.Contains(stdout, "--decimals 2") || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "also set events.decimals: 2. All values above are in units of 0.01.") || !strings.Contains(stdout, "# Needs decimals: 2") {
		t.Errorf("the plan does not keep the decimals:\n%s", stdout)
	}
	for _, c := range [][2]string{{"--decimals 10", "--decimals"}, {"--decimals -1", "--decimals"}, {"--decimals 2 --kind events", "--decimals is only used with --kind"}, {"--max 99.99", "--max 9999"}} {
		line := append(append([]string{"demo", "--input", path}, args...), strings.Fields(c[0])...)
		if code, _, stderr := run(t, line...); code != 2 || !strings.Contains(stderr, c[1]) {
			t.Errorf("%s: exit %d, %s", c[0], code, stderr)
		}
	}
}
