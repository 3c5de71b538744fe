package demo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

var generatedAt = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)

// shownToPublic returns what a demo shows to the public, on stdout and on its page, with noise that
// is the same for every file.
func shownToPublic(t *testing.T, args ...string) (stdout, page string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	f, cmd := &demoFlags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags(append(args, "--report", path)); err != nil {
		t.Fatal(err)
	}
	f.flags = cmd.Flags()
	var out, errs bytes.Buffer
	a := &app{&command.App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}}
	j := &job{flags: f, progress: terminal.NewProgress(&errs, time.Now)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.check(cmd.Flags().Changed))
	must(j.compile())
	var err error
	j.page, err = command.OpenPage(path, j.deployment)
	must(err)
	must(j.openFile())
	defer j.source.(*demo.File).Close() //nolint:errcheck // it was only read
	j.secrets = demo.Secrets{Incarnation: [16]byte{1}, Noise: noisereduction.NoiseKey{ID: "demo",
		Secret: secret.New([32]byte{2})}, UserHash: secret.New([32]byte{3})}
	j.describePage()
	result, values, err := a.present(t.Context(), j)
	must(err)
	compared, err := j.compare(result, values)
	must(err)
	j.addError(compared)
	must(j.page.Save())
	must(j.sumUp(result, len(values), compared))
	text, err := os.ReadFile(path)
	must(err)
	return out.String(), generatedAt.ReplaceAllString(string(text), "")
}

// Nothing that a demo publishes, on stdout or on the page, changes with the records of one user
// that are in no released value, whatever is in them.
func TestRuleOneUserChangesNothingPublicButReleasedValues(t *testing.T) {
	t.Parallel()
	lines := []string{"who,what,when,size"}
	for u := range 600 {
		for n := range 4 {
			lines = append(lines, fmt.Sprintf("u%d,%s,2025-03-0%dT%02d:%02d:00Z,%d", u, []string{"a", "b", ""}[u%3],
				3+n%2, n, u%60, u%50))
		}
	}
	var evil []string
	for i, times := range []string{"2025-03-03T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z",
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "10000-01-01T00:00:00Z", "soon", "", "2025-03-03",
		"2025-03-05T00:00:00Z"} {
		for _, size := range []string{"0", "-9223372036854775808", "9223372036854775807", "9223372036854775808",
			"1e300", "NaN", "", "x", "0.5"} {
			evil = append(evil, fmt.Sprintf("evil,of one user %d,%s,%s", i, times, size))
		}
	}
	evil = append(evil, "evil", "evil,", ",,,", `evil,"a`, "evil,\xff,2025-03-03T00:00:00Z,1",
		",of no user,2025-03-03T00:00:00Z,1",
		strings.Repeat("e", 1025)+",of no user,2025-03-03T00:00:00Z,1", "evil,"+strings.Repeat("k", 513)+
			",2025-03-03T00:00:00Z,1", "evil,a,2025-03-03T00:00:00Z,"+strings.Repeat("1", demo.MaxRecordBytes))
	for range 300 { // more than a tenth of all
		evil = append(evil, "evil,a,never,1")
	}
	const common = "--header --user-field who --key-field what --time-field when --skip-bad-times --from 2025-03-03 " +
		"--to 2025-03-05 --epsilon 60 --delta 1e-3"
	for _, kind := range []string{
		"--window 1d", "--window 1d --time-zone Europe/Zurich", "--window 6h --format json",
		"--window 1d --kind distinct_users --absolute 20", "--window 1d --kind sum --value-field size --min 0 --max " +
			"50 --public-keys a,b",
		"--window 1d --kind mean --value-field size --min 0 --max 50", "--window 1d --kind standard_deviation " +
			"--value-field size --min 0 --max 50", "--window 1d --kind quantiles --value-field size --min 0 --max 50",
		"--window 1d --kind quantiles --scale logarithmic --value-field size --min 0 --max 50",
		"--window 1d --kind histogram --value-field size --edges 0,10,20,50",
		"--window 1d --kind histogram --value-field size --min 1 --max 50 --buckets 4 --scale logarithmic",
		"--window 1d --no-user each", "--window 1d --no-user skip",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			noise := " --absolute 2 "
			if regexp.MustCompile("mean|deviation|quantiles|histogram").MatchString(kind) {
				noise = " --noise 2 "
			}
			show := func(lines []string) (string, string) {
				return shownToPublic(t, append(strings.Fields(common+noise+kind), "--input", commandtest.Write(t,
					"visits.csv", strings.Join(lines, "\n")+"\n"))...)
			}
			stdout, page := show(lines)
			if strings.Count(stdout, " ") < 100 && strings.Count(stdout, `"key"`) < 5 || !strings.Contains(page,
				`"key":"a"`) {
				t.Fatalf("little is released:\n%s", stdout)
			}
			for _, line := range []int{1, len(lines) / 2, len(lines)} {
				got, gotPage := show(slices.Insert(slices.Clone(lines), line, evil...))
				if diff := cmp.Diff(stdout, got); diff != "" {
					t.Errorf("at line %d: another stdout (-want +got):\n%s", line, diff)
				}
				if gotPage != page {
					t.Errorf("at line %d: another page:\n%s", line, cmp.Diff(strings.Split(page, "\n"),
						strings.Split(gotPage, "\n")))
				}
			}
		})
	}
}

// One old record of one user takes nothing from the allowances of others, even if no --from keeps
// it out.
func TestRuleAnOldRecordTakesNoAllowanceFromOthers(t *testing.T) {
	t.Parallel()
	text := "who,what,when\n"
	for u := range 60 {
		for day := 1; day <= 6; day++ {
			text += strings.Repeat(fmt.Sprintf("u%d,a,2025-03-%02dT10:00:00Z\n", u, day), 10)
		}
	}
	counted := func(text string) string {
		_, stderr := mustRun(t, "demo", "--header", "--user-field", "who", "--time-field", "when", "--window", "1d",
			"--lasts", "6d", "--absolute", "40", "--input", commandtest.Write(t, "visits.csv", text))
		return regexp.MustCompile(`(?m)^  counted +[\d,]+`).FindString(stderr)
	}
	alone, beside := counted(text), counted(text+"evil,a,2024-12-01T10:00:00Z\n")
	number := func(text string) (n int) {
		fmt.Sscan(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(text), "counted"), ",", ""),
			&n) //nolint:errcheck // 0 is wrong as well
		return n
	}
	if n := number(alone); n == 0 || n >= 3600 || number(beside) != n+1 {
		t.Errorf("%d of 3,600 events count, and %d of them beside an old record", n, number(beside))
	}
}
