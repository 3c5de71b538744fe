package demo

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// orders writes a file of users with two orders each, of 30 and of 50, for the key home; every
// second user has one of 7 for the key other as well.
func orders(t testing.TB, users int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("user,page,when,amount\n")
	for u := range users {
		fmt.Fprintf(&b, "u%d,home,2025-03-03T00:%02d:00Z,30\nu%d,home,2025-03-03T01:%02d:00Z,50\n", u, u%60, u, u%60)
		if u%2 == 0 {
			fmt.Fprintf(&b, "u%d,other,2025-03-03T02:%02d:00Z,7\n", u, u%60)
		}
	}
	return commandtest.Write(t, "orders.csv", b.String())
}

const ofOrders = "--header --user-field user --time-field when --window 1d"

func TestDemoCountsEveryKind(t *testing.T) {
	t.Parallel()
	path := orders(t, 500)
	bounds := " --lasts 1d --epsilon 50 --public-keys home,other --key-field page --format json"
	for _, c := range []struct {
		args        string
		home, other float64
		within      float64 // more than five standard deviations of the noise
	}{
		{"--kind events --absolute 2", 1000, 250, 10},
		{"--kind distinct_users --absolute 2", 500, 250, 10},
		{"--kind sum --value-field amount --min 0 --max 600 --decimals 1 --absolute 1000", 400_000, 17_500, 6000},
		{"--kind sum --value-field amount --min 0 --max 40 --absolute 80", 35_000, 1750, 400}, // 50 counts as 40
		{"--kind mean --value-field amount --min 0 --max 60 --noise 2", 40, 7, 15},
		{"--kind variance --value-field amount --min 0 --max 60 --noise 2 --epsilon 500", 100, 0, 60},
		{"--kind standard_deviation --value-field amount --min 0 --max 60 --noise 2 --epsilon 500", 10, 0, 8},
	} {
		if c.other < 1750 && !long.On() {
			continue
		}
		stdout, stderr := mustRun(t, append([]string{"demo", "--input", path}, strings.Fields(ofOrders+bounds+" "+
			c.args)...)...)
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
		if unit := strings.Contains(stdout, `,"value_unit":"0.1"}`); unit != strings.Contains(c.args, "--decimals 1") {
			t.Errorf("%s: the JSON has a unit: %v: %s", c.args, unit, stdout)
		}
		if !strings.Contains(stderr, "compared with the file: ") {
			t.Errorf("%s: %s", c.args, stderr)
		}
	}
}

func TestDemoChoosesTheRangeOfValues(t *testing.T) {
	t.Parallel()
	_, stderr := mustRun(t, append([]string{"demo", "--input", orders(t, 4000), "--kind", "sum", "--value-field",
		"amount", "--format", "json"}, strings.Fields(ofOrders)...)...)
	if strings.Contains(stderr, "outside 0 to 1 count") || !strings.Contains(stderr, "of the real sum") {
		t.Error(stderr)
	}
}
