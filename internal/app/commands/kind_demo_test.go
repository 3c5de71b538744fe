package commands

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
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

// The table has the shares of each key in the order of the edges, with room for the names of all
// buckets. The buckets of the largest key are shown once more, with bars. No share has a chart, but
// a mean has one.
func TestTheTableNamesEveryBucketInOrder(t *testing.T) {
	t.Parallel()
	stdout, _ := mustRun(t, append([]string{"demo", "--input", orders(t, 500), "--public-keys", "home,other", "--key-field", "page"}, strings.Fields(ofOrders+
		" --kind histogram --value-field amount --max-keys-per-user 2 --max-events-per-key 2 --last-at-least 1 --absolute 0 --epsilon 50 --edges 0,40,1000,20000,100000 --also mean")...)...)
	rest := stdout
	for _, part := range []string{
		"95 % interval", "\n2025", "home ",
		"  mean ", "  from.0 ", " to ", "  from.40 ", "  from.1000 ", "  from.20000 ", "  below.1000 ", "  below.20000 ", "other ", "  mean ", "  from.0 ", "  below.20000 ",
		"█ released value", "\nhome   noise ±", "\nhome, mean   noise ±", "\nother   noise ±", "\nother, mean   noise ±",
		"\nhome   2025-03-03: percentage of the values in each bucket\n", "\nbelow 40 ", "█", "\n40 to below 1,000 ", "█", "\n1,000 to below 20,000 ", "\n20,000 or more ", "\n1 window,",
	} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is not in its place in %s", part, stdout)
		}
		rest = after
	}
	if strings.Contains(stdout, "0   noise") || strings.Count(stdout, ", mean   noise") != 2 || strings.Contains(stdout, "without a chart") {
		t.Errorf("a share has a chart, or there was no room for one: %s", stdout)
	}
}

// A histogram of a file has the shares of its values, with edges that are listed, or divide the
// range by a scale.
func TestDemoReleasesShares(t *testing.T) {
	t.Parallel()
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

// Errors name the flags that were given, or the one to add; broken records come before all else.
func TestErrorsOfValuesNameWhatWasGiven(t *testing.T) {
	t.Parallel()
	path := orders(t, 20)
	for _, c := range []struct{ args, want string }{
		{"--min 5", "--min is 5: give --max, too"},
		{"--max 0", "--max is 0: give --min, too"},
		{"--min 0 --max 0", "--max must be greater"},
		{"--max 1000000000000", "--max: --max-events-per-key ("},
		{"--min 10000000000 --max 10000000001", "error: planning: even one window would have no precision left"},
		{"--min -9 --max 9 --relative 0.1", "--relative: a sum that can be negative"},
		{"--time-field page --key-field page --public-keys home,other", "42 of 42 records (100 %) have no time"},
	} {
		args := strings.Fields("plan --kind sum --value-field amount --input " + path + " " + ofOrders + " " + c.args)
		if code, _, stderr := run(t, args...); code == exitOK || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
	}
}

// Where every value is below 0, plan and demo choose a range below 0.
func TestARangeBelowZeroIsChosen(t *testing.T) {
	t.Parallel()
	path := orders(t, 4000)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = write(t, "refunds.csv", strings.NewReplacer("Z,", "Z,-").Replace(string(text)))
	args := strings.Fields("--kind sum --value-field amount --input " + path + " " + ofOrders)
	if stdout, _ := mustRun(t, append([]string{"plan"}, args...)...); !strings.Contains(stdout, "max: 0}") || !strings.Contains(stdout, "min: -") {
		t.Error(stdout)
	}
	if _, stderr := mustRun(t, append([]string{"demo", "--format", "json"}, args...)...); !strings.Contains(stderr, "values below -") || !strings.Contains(stderr, "or above 0 count as these") {
		t.Error(stderr)
	}
}

// For kinds that a user's events do not change, plan lists no setting twice.
func TestPlanListsEachSettingOfUsersOnce(t *testing.T) {
	t.Parallel()
	stdout, _ := mustRun(t, strings.Fields("plan --format json --kind distinct_users --input "+orders(t, 500)+" "+ofOrders)...)
	if strings.Count(stdout, `"max_events_per_key":`) == 0 || strings.Count(stdout, `"max_events_per_key":`) != strings.Count(stdout, `"max_events_per_key":1,`) {
		t.Error(stdout)
	}
}

var rangeOfPlan = regexp.MustCompile(`min: (-?\d+), max: (\d+)`)

// plannedRange is the range of values that a plan recommends.
func plannedRange(t *testing.T, args ...string) (least, most int) {
	t.Helper()
	stdout, _ := mustRun(t, append([]string{"plan"}, args...)...)
	found := rangeOfPlan.FindStringSubmatch(stdout)
	if found == nil {
		t.Fatal(stdout)
	}
	least, err := strconv.Atoi(found[1])
	if err == nil {
		most, err = strconv.Atoi(found[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	return least, most
}

// One user with a value far beyond all others makes neither a plan nor the advice of a demo fail,
// nor the steps of quantiles wider than the values of all others.
func TestOneExtremeValueDecidesNoRangeOfQuantiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(orders(t, 4000))
	if err != nil {
		t.Fatal(err)
	}
	for _, extreme := range []string{"9223372036854775807", "-9223372036854775808", "1000000000"} {
		args := append([]string{"--input", write(t, "orders.csv", string(text)+"evil,home,2025-03-03T00:00:00Z,"+extreme+"\n"), "--kind", "quantiles", "--value-field", "amount"}, strings.Fields(ofOrders)...)
		if least, most := plannedRange(t, args...); least < -1000 || least > 7 || most < 50 || most > 1000 {
			t.Errorf("with a value of %s: %d to %d", extreme, least, most)
		}
		// So long a life takes so much noise that nothing comes out (but for 1e-6), and demo looks
		// for an advice.
		if _, stderr := mustRun(t, append(append([]string{"demo", "--key-field", "page"}, args...), "--last-at-least", "1000000")...); !strings.Contains(stderr, "with\n  tollgate demo") {
			t.Errorf("no advice: %s", stderr)
		}
	}
}

// Events of keys that are not released by a list are no values that are missing.
func TestRanksAreComparedForPublicKeysOnly(t *testing.T) {
	t.Parallel()
	args := append([]string{"demo", "--input", orders(t, 4000), "--key-field", "page", "--kind", "quantiles", "--value-field", "amount", "--min", "0", "--max", "60",
		"--max-keys-per-user", "1", "--max-events-per-key", "2", "--last-at-least", "1", "--epsilon", "8", "--public-keys", "other"}, strings.Fields(ofOrders)...)
	_, stderr := mustRun(t, args...)
	if strings.Count(stderr, "the rank of p") != 3 || strings.Contains(stderr, "off by 100 %") {
		t.Error(stderr)
	}
}

// The comparison of a mean names the column, and says which error came out and which was forecast.
// Advice comes after all comparisons.
func TestDemoComparesStatisticsOfTheColumn(t *testing.T) {
	t.Parallel()
	args := append([]string{"demo", "--input", orders(t, 4000), "--key-field", "page", "--value-field", "amount", "--public-keys", "home,other", "--min", "0", "--max", "60", "--max-keys-per-user", "1", "--max-events-per-key", "1", "--last-at-least", "1"}, strings.Fields(ofOrders)...)
	page := filepath.Join(t.TempDir(), "page.html")
	_, stderr := mustRun(t, append(args, "--kind", "mean", "--also", "standard_deviation,events", "--report", page)...)
	rest := stderr
	for _, part := range []string{
		"compared with the file: typically ", "% from the real mean of amount (one mean with at least half of the events); the forecast is ", "%: noise ", " or clamped ", "; number of events beside it: ", "%)\n",
		"compared with the file: the standard deviation of amount is typically off by ", " % (one standard deviation with at least half of the events)\n",
		"compared with the file: the number of events is typically off by ", " % (one value with",
	} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is not in its place in\n%s", part, stderr)
		}
		rest = after
	}
	text, err := os.ReadFile(page)
	for _, part := range []string{"mean of amount, each value clamped to 0 to 60", "standard deviation of amount, each value clamped to 0 to 60"} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("the page lacks %q: %v", part, err)
		}
	}
	// Bounds of one event leave out half of the events: advice on that follows what was compared.
	if _, stderr = mustRun(t, append(args, "--kind", "quantiles", "--also", "mean", "--relative", "0")...); !strings.Contains(stderr, "with\n  tollgate demo") ||
		strings.LastIndex(stderr, "compared with the file: ") > strings.Index(stderr, "nothing of use can be shown") {
		t.Errorf("advice stands before what was compared:\n%s", stderr)
	}
}

// plan writes the target of quantiles as an error of the rank, that of a histogram in points, and
// says that its forecast is of the number of events. Its configuration has the statistics asked
// for.
func TestPlanSaysWhatTheTargetOfQuantilesIs(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]string{
		"quantiles --absolute 0.02 --ranks 0.5 --also mean": {"rank ± 2 %", "\n      ranks: [0.5]\n      also: [mean]\n"},
		"histogram --absolute 2 --buckets 4":                {"± 2 points", "\n      buckets: 4\n"},
	} {
		stdout, _ := mustRun(t, strings.Fields("plan --value-field amount --min 0 --max 200 --epsilon 4 --kind "+kind+" --input "+orders(t, 500)+" "+ofOrders)...)
		for _, part := range []string{"  " + want[0] + "  ", want[1], "error of the number", "values, from the greatest down"} {
			if !strings.Contains(stdout, part) {
				t.Errorf("%s: no %q in\n%s", kind, part, stdout)
			}
		}
		if strings.Contains(stdout, "± 0.02") || strings.Contains(stdout, "values above 0") {
			t.Errorf("%s:\n%s", kind, stdout)
		}
	}
}

// Edges that make no histogram are refused as what they are.
func TestWrongEdgesAreRefused(t *testing.T) {
	t.Parallel()
	path := orders(t, 10)
	for edges, want := range map[string]string{
		"1000": "it has 1 edge", "5,3": "it has 2 edges", "1,000,2,000": "no commas inside a number", "0,": "leave no spaces", "0,1.5,3": "1.5 is not a whole number", "3,5,5": "do not rise",
	} {
		code, _, stderr := run(t, append([]string{"demo", "--input", path}, strings.Fields(ofOrders+" --kind histogram --value-field amount --edges "+edges)...)...)
		if code == exitOK || !strings.Contains(stderr, `--edges is "`+edges+`": `) || !strings.Contains(stderr, want) || strings.Contains(stderr, "bounds") {
			t.Errorf("--edges %s: exit %d, %s", edges, code, stderr)
		}
	}
}

// If --also is refused, the error names what was probably meant, or the flags that release it. Both
// work.
func TestRefusedStatisticsSayWhatToGive(t *testing.T) {
	t.Parallel()
	path := orders(t, 200)
	const bounds = " --key-field page --public-keys home,other --value-field amount --min 0 --max 60 --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --epsilon 50 --format json "
	const wide = "--kind mean --max 131073 --max-events-per-key 2 --also "
	for _, c := range []struct{ wrong, want, right string }{
		{"--kind mean --also sd", `--also: there is no statistic "sd": did you mean standard_deviation?`, "--kind mean --also standard_deviation"},
		{"--kind quantiles --also meen", `--also: there is no statistic "meen": did you mean mean?`, "--kind quantiles --also mean"},
		{"--kind quantiles --also Average", `there is no statistic "Average": did you mean mean?`, "--kind quantiles --also mean"},
		{"--kind mean --also range", `there is no statistic "range": choose from events, variance, standard_deviation`, "--kind mean --also events,variance,standard_deviation"},
		{"--kind mean --also median", "--also: median is a quantile: leave it out here, and give --kind quantiles with --ranks 0.5", "--kind quantiles --ranks 0.5"},
		{"--kind histogram --also p99.9", "p99.9 is a quantile: leave it out here, and give --kind quantiles with --ranks 0.999", "--kind quantiles --ranks 0.999"},
		{"--kind quantiles --also p50", "p50 is one of the quantiles: leave it out here, and give --ranks 0.5", "--kind quantiles --ranks 0.5"},
		{"--kind quantiles --also events,mean", "the number of events is released anyway, as the metric's own value: leave events out", "--kind quantiles --also mean"},
		{"--kind mean --also avg", "avg is released anyway, as the metric's own value: leave it out", "--kind mean"},
		{"--kind mean --also events,", "--also: a name is empty: remove it, or the comma beside it", "--kind mean --also events"},
		{"--kind mean --also=", "--also is empty: give it a value, or leave it out", "--kind mean"},
		{wide + "variance", "times (max − min)², which --also variance needs, is above 2^35, and no budget pays for that: let max be at most 131072 above min, or give values in a coarser unit, or --max-events-per-key 1, or leave variance out", strings.Replace(wide, "131073", "131072", 1) + "variance"},
		{wide + "variance", "", strings.Replace(wide, "key 2", "key 1", 1) + "variance"},
		{wide + "events,variance", "", wide + "events"},
		{"--kind quantiles --max 131073 --max-events-per-key 2 --also mean,variance,standard_deviation", "which --also variance, standard_deviation needs, is above 2^35, and no budget pays for that: let max be at most 131072 above min, or give values in a coarser unit, or --max-events-per-key 1, or leave variance and standard_deviation out", "--kind quantiles --max 131073 --max-events-per-key 2 --also mean"},
		{"--kind variance --max 131073 --max-events-per-key 2 --also mean", "times (max − min)² is above 2^35, and no budget pays for that: let max be at most 131072 above min, or give values in a coarser unit, or --max-events-per-key 1", "--kind variance --max 131073 --max-events-per-key 1 --also mean"},
	} {
		for _, command := range []string{"demo", "plan"} {
			args := func(more string) []string {
				line := ofOrders + bounds + more
				if command == "plan" { // a demo has bounds that a plan chooses
					line = strings.NewReplacer("--max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 ", "--max-keys-per-user 1 ").Replace(line)
				}
				return append([]string{command, "--input", path}, strings.Fields(line)...)
			}
			code, _, stderr := run(t, args(c.wrong)...)
			if code != exitUsage || !strings.Contains(strings.ReplaceAll(stderr, "\n", " "), c.want) {
				t.Errorf("%s %s: exit code %d, %s", command, c.wrong, code, stderr)
			}
			if command == "plan" { // which takes longer, and agrees with demo on what is right
				continue
			}
			if code, _, stderr := run(t, args(c.right)...); code != exitOK {
				t.Errorf("%s %s: exit code %d, %s", command, c.right, code, stderr)
			}
		}
	}
}
