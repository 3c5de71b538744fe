package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// With --strict a demo that loses most of its records ends with a status of its own, after all
// reports are written.
func TestStrictRefusesLosses(t *testing.T) {
	t.Parallel()
	half := "when,who,where\n" + strings.Repeat("2025-03-01T00:00:00Z,a,north\nsoon,a,north\n", 2)
	for _, c := range []struct {
		name, text string
		want       int
	}{{"half", half, command.ExitOK}, {"more than half", half + "soon,b,north\n", command.ExitLosses}} {
		report := filepath.Join(t.TempDir(), "tallies.json")
		args := append(commandtest.FileArgs(commandtest.Write(t, "visits.csv", c.text), "--max-events-per-key", "9",
			"--public-keys", "north", "--skip-bad-times"), "--trusted-report", report)
		if code, _, stderr := run(t, args...); code != command.ExitOK || strings.Contains(stderr, "were lost before") !=
			(c.want != command.ExitOK) {
			t.Errorf("%s: exit %d, stderr %s", c.name, code, stderr)
		}
		code, stdout, stderr := run(t, append(args, "--strict")...)
		if code != c.want || strings.Contains(stderr, "error: more than half of the records were lost") !=
			(c.want != command.ExitOK) || !strings.Contains(stdout, "north") {
			t.Errorf("%s with --strict: exit %d, stderr %s", c.name, code, stderr)
		}
		if _, err := os.Stat(report); err != nil {
			t.Error(err)
		}
	}
}

// Times of another unit, or of years in which events hardly lie, are named before anything is
// released, with a remedy that changes something.
func TestTimesThatAreHardlyRightAreNamed(t *testing.T) {
	t.Parallel()
	day := func(year, i int) int64 { return time.Date(year, 3, 3, 0, i, 0, 0, time.UTC).UnixMilli() }
	for name, c := range map[string]struct {
		when func(i int) int64
		want string // "" if nothing is said
	}{
		"another unit": {func(i int) int64 { return day(2025, i) / 1000 },
			"500 of 500 records (100%) have a time before 1990 or ahead of now: lines 2, 3, 4 and more; line 2 is " +
				"like 9999999999,x9,x. To read them, give --time-unit s (2025-03-03 to 2025-03-03)"},
		"two units": {func(i int) int64 { return day(2025, i) / []int64{1000, 1}[i%2] },
			"The file mixes units: these times need --time-unit s (2025-03-03 to 2025-03-03), and the others " +
				"do not."},
		"of these years": {func(i int) int64 { return day(2025, i) }, ""},
	} {
		var b strings.Builder
		b.WriteString("when,who,where\n")
		for i := range 500 {
			fmt.Fprintf(&b, "%d,u%d,a\n", c.when(i), i%10)
		}
		f := &demoFlags{}
		f.Window = time.Hour
		f.input, f.inputFormat, f.header, f.userField, f.keyField, f.timeField, f.times.Unit = commandtest.Write(t,
			"visits.csv", b.String()), event.CSV, true, "who", "where", "when", "ms"
		file, err := demo.OpenFile(f.fileOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		refused := f.refuseTimes(file.Faults(), 500)
		if got := fmt.Sprint(refused); !strings.Contains(got, c.want) || (refused == nil) != (c.want == "") {
			t.Errorf("%s: %s", name, got)
		}
	}
	code, stdout, stderr := run(t, commandtest.FileArgs(commandtest.Write(t, "visits.csv",
		"when,who,where\n1945-03-03,u,a\n"), "--public-keys", "a")...)
	if code != command.ExitError || stdout != "" || !strings.Contains(stderr, "visits.csv is before 1970, and such "+
		"events do not count: correct --time-field") {
		t.Errorf("before 1970: exit %d, %s%s", code, stdout, stderr)
	}
}

// More than 2% of broken rows refuse a file; users like NULL are left out with the others.
func TestUndecodableRowsRefuseAFile(t *testing.T) {
	t.Parallel()
	for bad, refuses := range map[int]bool{10: false, 11: true} {
		text := "when,who\n" + strings.Repeat("1,u,x\n", bad) + strings.Repeat("1,NULL\n", 400) +
			strings.Repeat("1,u\n", 100-bad)
		f := &demoFlags{}
		f.Window = time.Hour
		f.input, f.inputFormat, f.header, f.userField, f.timeField, f.times.Unit, f.NoUser = commandtest.Write(t,
			"visits.csv", text), event.CSV, true, "who", "when", "s", "skip"
		file, err := demo.OpenFile(f.fileOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		events, faults := 0, file.Faults()
		err = (&job{source: file}).events(func(*event.Event) error { events++; return nil })
		if err != nil || events != 100-bad || file.Unnamed() != 400 {
			t.Fatalf("%d events, %d without a user, %v", events, file.Unnamed(), err)
		}
		if err := f.refuseUndecodable(faults, 500); (err != nil) != refuses {
			t.Errorf("%d of 500: %v", bad, err)
		}
		if f.skipUndecodable = true; f.refuseUndecodable(faults, 500) != nil {
			t.Error("refused all the same")
		}
	}
}
