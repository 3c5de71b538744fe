package eventfile

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// The unit proposed for odd or unreadable times reads all of them correctly.
func TestTheProposedUnitReadsTheTimes(t *testing.T) {
	// Both halves of the year, and days that cannot be months.
	meant := make([]time.Time, 200)
	for i := range meant {
		meant[i] = time.Date(2025, 1, 13, 5, 7, 31, 0, time.UTC).Add(time.Duration(i) * 41 * time.Hour)
	}
	number := func(per, zero float64) func(time.Time) string {
		return func(t time.Time) string { return strconv.FormatFloat((float64(t.Unix())-zero)/per, 'f', -1, 64) }
	}
	layout := func(text string) func(time.Time) string { return func(t time.Time) string { return t.Format(text) } }
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		unit  string // given
		text  func(time.Time) string
		want  string
		whole time.Duration // resolution of the texts
	}{
		"seconds":        {"ms", number(1, 0), "s", 1},
		"milliseconds":   {"s", number(1e-3, 0), "ms", 1},
		"microseconds":   {"text", func(t time.Time) string { return fmt.Sprint(t.UnixMicro()) }, "us", 1},
		"nanoseconds":    {"us", func(t time.Time) string { return fmt.Sprint(t.UnixNano()) }, "ns", 1},
		"yyyymmddHHMMSS": {"ms", layout("20060102150405"), "text", time.Second},
		"yyyymmdd":       {"s", layout("20060102"), "text", day},
		"midnights": {"rfc3339", func(t time.Time) string {
			return t.AddDate(0, 0, -1).Format(time.DateOnly) +
				"T24:00:00Z"
		}, "text", day},
		"no times": {"text", func(time.Time) string { return "soon" }, "", 0},
		"of 1969": {"text", func(t time.Time) string { return t.AddDate(-56, 0, 0).Format(time.DateTime) }, "",
			0},
		"no unit beside a layout": {"", layout("20060102"), "", 0},
	} {
		format := event.Format{Format: event.TSV, Columns: []string{"user", "when"}, User: "user", Time: "when",
			TimeUnit: c.unit}
		if c.unit == "" {
			format.TimeUnit, format.TimeLayout = event.TimeText, "%d.%m.%Y"
		}
		records := make([]string, len(meant))
		for i, moment := range meant {
			records[i] = "u\t" + c.text(moment)
		}
		unit := faultsOf(t, format, strings.Join(records, "\n")).times.Reading()
		if c.want == "" && unit != nil || c.want != "" && (unit == nil || unit.unit != c.want) {
			t.Errorf("%s: %v, want %s", name, unit, c.want)
		}
		if c.want == "" {
			continue
		}
		format.TimeUnit = c.want
		d, err := event.NewDecoder(format)
		if err != nil {
			t.Fatal(err)
		}
		for i, moment := range meant {
			var e event.Event
			if err := d.Decode([]byte(records[i]), &e); err != nil {
				t.Fatalf("%s: %q: %v", name, records[i], err)
			}
			if got := time.UnixMilli(e.Millis).UTC(); c.whole != 0 && got.Sub(moment.Truncate(c.whole)).Abs() >
				time.Millisecond {
				t.Fatalf("%s: %q is %v, want %v", name, records[i], got, moment)
			}
		}
	}
}

// If only some times are in another unit, that unit is proposed and the usual times are counted.
func TestTimesOfTwoUnitsAreCountedApart(t *testing.T) {
	for unit, other := range map[string]string{"ms": "s", "s": "ms"} {
		var records []string
		for i := range 300 {
			millis := time.Date(2025, 3, 3, 0, i, 0, 0, time.UTC).UnixMilli()
			records = append(records, fmt.Sprintf("u\t%d", []int64{millis, millis / 1000, millis}[i%3]))
		}
		f := faultsOf(t, event.Format{Format: event.TSV, Columns: []string{"user", "when"}, User: "user", Time: "when",
			TimeUnit: unit}, strings.Join(records, "\n"))
		bad, _ := f.BadTimes()
		odd, _ := f.OddTimes()
		found := f.times.Reading()
		if found == nil || found.unit != other || f.times.Usual() == 0 || bad+odd+f.times.Usual() != 300 {
			t.Errorf("%s: %d unreadable, %d odd, %d usual, %v", unit, bad, odd, f.times.Usual(), found)
		}
	}
}
