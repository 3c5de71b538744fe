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
		"minutes":        {"s", number(60, 0), "--time-unit min", 1},
		"hours":          {"text", number(3600, 0), "--time-unit h", 1},
		"days":           {"ms", number(86400, 0), "--time-unit d", 1},
		"Excel":          {"s", number(86400, -2209161600), "--time-unit excel", 1},
		"Windows":        {"us", func(at time.Time) string { return fmt.Sprint(at.UnixNano()/100 + 116444736e9) }, "--time-unit filetime", 1},
		"yyyymmddHHMMSS": {"ms", layout("20060102150405"), "--time-unit text", time.Second},
		"yyyymmdd":       {"s", layout("20060102"), "--time-unit text", day},
		"years":          {"s", layout("2006"), "--time-layout '%Y'", 0},
		"12 hours":       {"text", layout("01/02/2006 03:04:05 PM"), "--time-layout '%m/%d/%Y %I:%M:%S %p'", time.Second},
		"short years":    {"text", layout("1/2/06 3:04 PM"), "--time-layout '%m/%d/%y %I:%M %p'", time.Minute},
		"JavaScript":     {"text", layout("1/2/2006, 3:04:05 PM"), "--time-layout '%m/%d/%Y, %I:%M:%S %p'", time.Second},
		"syslog":         {"text", layout("Jan _2 15:04:05"), fmt.Sprintf("--time-layout '%%{%d}%%b %%d %%T'", time.Now().Year()-1), 0},
		"compact":        {"text", layout("200601021504"), "--time-layout '%Y%m%d%H%M'", time.Minute},
		".NET":           {"text", func(at time.Time) string { return fmt.Sprintf("/Date(%d+0100)/", at.UnixMilli()) }, "--time-unit ms", 1},
		"hard spaces":    {"ms", layout("2006-01-02\u00a015:04:05"), "--time-unit text", time.Second},
		"Java":           {"text", in("Europe/Zurich", "Mon Jan 02 15:04:05 MST 2006"), "--time-zone Europe/Berlin", time.Second},
		"New York":       {"rfc3339", in("America/New_York", "2006-01-02 15:04:05 MST"), "--time-zone America/New_York", time.Second},
		"Eastern":        {"text", in("America/New_York", "01/02/2006 03:04:05 PM MST"), "--time-layout '%m/%d/%Y %I:%M:%S %p %Z' --time-zone America/New_York", time.Second},
		"UTC, 12 hours":  {"text", layout("2006-01-02 3:04 PM MST"), "--time-layout '%Y-%m-%d %I:%M %p %Z'", time.Minute},
		"weeks":          {"text", func(at time.Time) string { return isoWeek(at) + at.Format("T15:04:05Z07:00") }, "--time-layout '%G-W%V-%uT%T%z'", time.Second},
		"days of weeks":  {"s", isoWeek, "--time-layout '%G-W%V-%u'", day},
		"days of years":  {"text", layout("2006-002 15:04"), "--time-layout '%Y-%j %H:%M'", time.Minute},
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

func isoWeek(at time.Time) string {
	year, week := at.ISOWeek()
	return fmt.Sprintf("%d-W%02d-%d", year, week, (int(at.Weekday())+6)%7+1)
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

// Where one field has dates and another one times of day, the flags that read both are proposed.
func TestATimeOfDayInAnotherFieldIsFound(t *testing.T) {
	for name, c := range map[string]struct{ layout, format, day, clock, want string }{
		"usual":      {"", event.CSV, "2025-03-03", "08:07:31", "map[time-field:day,clock time-layout:]"},
		"members":    {"", event.JSONL, "2025-03-03", "08:07", "map[time-field:day,clock time-layout:]"},
		"12 hours":   {"%m/%d/%Y", event.CSV, "3/13/2025", "8:07 am", "map[time-field:day,clock time-layout:%m/%d/%Y %I:%M %p]"},
		"has a time": {"", event.CSV, "2025-03-03 00:01", "08:07:31", "map[]"},
		"no clock":   {"", event.CSV, "2025-03-03", "12", "map[]"},
		"midnight":   {"", event.CSV, "2025-03-03", "00:00", "map[]"},
	} {
		format := event.Format{Format: c.format, User: "user", Time: "day", TimeUnit: event.TimeText, TimeLayout: c.layout}
		record := fmt.Sprintf(`{"user":"u","day":%q,"clock":%q}`, c.day, c.clock)
		if c.format == event.CSV {
			format.Columns, record = []string{"user", "day", "clock"}, "u,"+c.day+","+c.clock
		}
		if got := fmt.Sprint(faultsOf(t, format, record+"\n"+record).times.Clock()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
