package eventfile

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// The way that is proposed for times that are odd or unreadable reads all of them as they were
// meant.
func TestTheReadingThatIsProposedReadsTheTimes(t *testing.T) {
	// Both halves of the year, and days that cannot be months.
	meant := make([]time.Time, 200)
	for i := range meant {
		meant[i] = time.Date(2025, 1, 13, 5, 7, 31, 0, time.UTC).Add(time.Duration(i) * 41 * time.Hour)
	}
	number := func(per, zero float64) func(time.Time) string {
		return func(at time.Time) string { return strconv.FormatFloat((float64(at.Unix())-zero)/per, 'f', -1, 64) }
	}
	layout := func(text string) func(time.Time) string { return func(at time.Time) string { return at.Format(text) } }
	in := func(zone, text string) func(time.Time) string {
		return func(at time.Time) string {
			z, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			return at.In(z).Format(text)
		}
	}
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		unit  string // as it was given
		text  func(time.Time) string
		want  string
		whole time.Duration // of which times are written
	}{
		"seconds":        {"ms", number(1, 0), "--time-unit s", 1},
		"milliseconds":   {"s", number(1e-3, 0), "--time-unit ms", 1},
		"microseconds":   {"text", func(at time.Time) string { return fmt.Sprint(at.UnixMicro()) }, "--time-unit us", 1},
		"nanoseconds":    {"us", func(at time.Time) string { return fmt.Sprint(at.UnixNano()) }, "--time-unit ns", 1},
		"yyyymmddHHMMSS": {"ms", layout("20060102150405"), "--time-unit text", time.Second},
		"yyyymmdd":       {"s", layout("20060102"), "--time-unit text", day},
		"years":          {"s", layout("2006"), "--time-layout '%Y'", 0},
		"12 hours":       {"text", layout("01/02/2006 03:04:05 PM"), "--time-layout '%m/%d/%Y %I:%M:%S %p'", time.Second},
		"short years":    {"text", layout("1/2/06 3:04 PM"), "--time-layout '%m/%d/%y %I:%M %p'", time.Minute},
		"syslog":         {"text", layout("Jan _2 15:04:05"), fmt.Sprintf("--time-layout '%%{%d}%%b %%d %%T'", time.Now().Year()-1), 0},
		"Java":           {"text", in("Europe/Zurich", "Mon Jan 02 15:04:05 MST 2006"), "--time-zone Europe/Berlin", time.Second},
		"midnights":      {"rfc3339", func(at time.Time) string { return at.AddDate(0, 0, -1).Format(time.DateOnly) + "T24:00:00Z" }, "--time-unit text", day},
		"no times":       {"text", func(time.Time) string { return "soon" }, "", 0},
		"of 1969":        {"text", func(at time.Time) string { return at.AddDate(-56, 0, 0).Format(time.DateTime) }, "", 0},
	} {
		format := event.Format{Format: event.TSV, Columns: []string{"user", "when"}, User: "user", Time: "when", TimeUnit: c.unit}
		records := make([]string, len(meant))
		for i, at := range meant {
			records[i] = "u\t" + c.text(at)
		}
		ways := faultsOf(t, format, strings.Join(records, "\n")).times.Readings()
		if len(ways) == 0 != (c.want == "") {
			t.Errorf("%s: %v, want %s", name, ways, c.want)
			continue
		}
		if c.want == "" {
			continue
		}
		if way := ways[0]; !strings.HasPrefix(way.String(), c.want+" (") || len(ways) > 1 {
			t.Errorf("%s: %v, want %s", name, ways, c.want)
			continue
		}
		set := ways[0].Flags()
		if format.TimeUnit = set["time-unit"]; format.TimeUnit == "" {
			format.TimeUnit = event.TimeText
		}
		format.TimeLayout, format.TimeZone = set["time-layout"], set["time-zone"]
		d, err := event.NewDecoder(format)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range meant {
			var e event.Event
			if err := d.Decode([]byte(records[i]), &e); err != nil {
				t.Fatalf("%s: %q: %v", name, records[i], err)
			}
			if got := time.UnixMilli(e.Millis).UTC(); c.whole != 0 && got.Sub(at.Truncate(c.whole)).Abs() > time.Millisecond {
				t.Fatalf("%s: %q is %v, want %v", name, records[i], got, at)
			}
		}
	}
}

// Only half of the times are in another unit: the way reads these, and the usual ones are counted.
func TestTimesOfTwoUnitsAreCountedApart(t *testing.T) {
	for unit, other := range map[string]string{"ms": "s", "s": "ms"} {
		var records []string
		for i := range 300 {
			at := time.Date(2025, 3, 3, 0, i, 0, 0, time.UTC).UnixMilli()
			records = append(records, fmt.Sprintf("u\t%d", []int64{at, at / 1000, at}[i%3]))
		}
		f := faultsOf(t, event.Format{Format: event.TSV, Columns: []string{"user", "when"}, User: "user", Time: "when", TimeUnit: unit}, strings.Join(records, "\n"))
		bad, _ := f.BadTimes()
		odd, _ := f.OddTimes()
		ways := f.times.Readings()
		if len(ways) != 1 || ways[0].unit != other || !ways[0].Unit() || f.times.Usual() == 0 || bad+odd+f.times.Usual() != 300 {
			t.Errorf("%s: %d unreadable, %d odd, %d usual, %v", unit, bad, odd, f.times.Usual(), ways)
		}
	}
}
