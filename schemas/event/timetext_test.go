package event

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// parseTime reads a time as a decoder with a unit does.
func parseTime(b []byte, unit string) (ms int64, ok bool) {
	d := Decoder{unit: unit}
	return d.parseTime(b)
}

func timeFormat(layout, zone string) Format {
	return Format{Format: "tsv", Columns: []string{"t", "user"}, User: "user", Time: "t", TimeUnit: TimeText,
		TimeLayout: layout, TimeZone: zone}
}

// readTime returns a time in RFC 3339, or "" for a text that is not one.
func readTime(t testing.TB, f Format, text string) string {
	t.Helper()
	var e Event
	err := newDecoder(t, f).Decode([]byte(text+"\tu"), &e)
	if err == nil {
		return time.UnixMilli(e.Millis).UTC().Format("2006-01-02T15:04:05.999Z")
	}
	if class := classOf(t, err); class != ClassBadTimestamp {
		t.Fatalf("%q: class %s", text, class)
	}
	return ""
}

func TestUsualLayoutsOfTimesAreRead(t *testing.T) {
	const march, morning = "2025-03-03T00:00:00Z", "2025-03-03T04:05:06Z"
	for text, want := range map[string]string{
		"2025-03-03": march, "2025/03/03": march, "2025-3-3": march, "20250303": march, " 2025-03-03 ": march,
		"03 Mar 2025": march, "3-Mar-2025": march,
		"2025-03-03 04:05:06": morning, "2025-03-03T04:05:06": morning, "2025-03-03T04:05:06Z": morning,
		"2025-03-03 04:05:06Z": morning, "2025-03-03 04:05:06 UTC": morning,
		"2025-03-03 4:05": "2025-03-03T04:05:00Z", "2025/03/03 04:05:06.5": "2025-03-03T04:05:06.5Z",
		"2025-03-03t04:05:06,1239z": "2025-03-03T04:05:06.123Z",
		"2025-03-03 05:05:06+01:00": morning, "2025-03-03 05:05:06+0100": morning, "2025-03-03 05:05:06 +01": morning,
		"2025-03-02T20:05:06-08:00": morning,
		"20250303 04:05:06":         morning, "1969-12-31 23:59:59.9999": "1969-12-31T23:59:59.999Z",
		"Mon, 03 Mar 2025 04:05:06 GMT": morning, "Mon, 3 Mar 2025 05:05:06 +0100": morning,
		"Monday, 03-Mar-2025 04:05:06 UTC": morning, "03 Mar 2025 04:05": "2025-03-03T04:05:00Z",
		"Mon Mar  3 04:05:06 2025": morning, "Mon Mar  3 04:05:06 UTC 2025": morning,
		"[03/Mar/2025:05:05:06 +0100]": morning, "03/Mar/2025:04:05:06": morning, "[2025-03-03 04:05:06]": morning,
		"2024-02-29":       "2024-02-29T00:00:00Z",
		"20250303T040506Z": morning, "20250303040506": morning, "20250303T040506.5": "2025-03-03T04:05:06.5Z",
		"20250303T050506+0100": morning, "20250303T0405": "", "20253303040506": "", "202503030405067": "",
		"2025-03-03 04:05:06 +0000 UTC": morning, "2025-03-03 05:05:06.5 +0100 CET": "2025-03-03T04:05:06.5Z",
		"2025-03-03 05:05:06 +0100 5":                                        "",
		"Mon Mar 03 2025 05:05:06 GMT+0100 (Central European Standard Time)": morning,
		"Mon Mar 03 2025 04:05:06 GMT":                                       morning,
		"Mon Mar 03 2025 05:05:06 GMT+0100 (Cen":                             "", "2025-03-03 05:05:06 CET": "",
		"03.03.2025": march, "3.3.2025": march, "04.03.2025": "2025-03-04T00:00:00Z", "03.03.2025 04:05:06": morning,
		"3.3.2025 4:05": "2025-03-03T04:05:00Z", "29.02.2024 05:05:06.5 +01:00": "2024-02-29T04:05:06.5Z",

		"": "", "[]": "", "03/04/2025": "", "3/4/25": "", "04-03-2025": "", "13.13.2025": "", "03.25.2025": "",
		"29.02.2025": "", "03.03.25": "", "3.3": "", "03.03.2025.": "", "03.03.2025 4": "", "03.03/2025": "",
		"2025": "", "2025-03": "", "2025-13-01": "", "2025-02-29": "", "2025-00-01": "", "2025-01-00": "",
		"2025-03/03": "", "2025-02-28 24:00": "2025-03-01T00:00:00Z", "2025-03-03T24:00:01": "",
		"2025-03-03 24:00:00.5": "", "2025-03-03 25:00": "", "2025-03-03 04": "", "2025-03-03 04:60": "",
		"2025-03-03 04:05:60": "", "2025-03-03 04:05:06.": "", "2025-03-03 04:05:06 EST": "",
		"2025-03-03 04:05:06 +25:00": "", "2025-03-03 04:05:06x": "", "2025-03-03x": "", "0000-01-01": "",
		"12025-03-03": "", "1740974706": "", "1740974706000": "", "Mon": "", "Moo, 03 Mar 2025": "",
		"Mar 3 2025": "", "now": "", "3 March 2025": march, "3 Marc 2025": "",
	} {
		if got := readTime(t, timeFormat("", ""), text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTimesAreReadByTheirLayout(t *testing.T) {
	for _, c := range []struct{ layout, text, want string }{
		{"%d.%m.%Y", "03.04.2025", "2025-04-03T00:00:00Z"},
		{"%m/%d/%Y %H:%M", "12/1/2010 8:26", "2010-12-01T08:26:00Z"},
		{"%m/%d/%Y %H:%M", "13/1/2010 8:26", ""},
		{"%m/%d/%Y %I:%M:%S %p", "12/01/2010 12:00:01 am", "2010-12-01T00:00:01Z"},
		{"%m/%d/%Y %I:%M %p", "12/01/2010 12:00 PM", "2010-12-01T12:00:00Z"},
		{"%m/%d/%Y %I:%M %p", "12/01/2010 13:00 PM", ""},
		{"%m/%d/%Y %I:%M %p", "12/01/2010 01:00 XM", ""},
		{"%D", "1/2/68", "2068-01-02T00:00:00Z"}, {"%D", "1/2/69", "1969-01-02T00:00:00Z"}, {"%d%m%y", "311299",
			"1999-12-31T00:00:00Z"},
		{"%F %T.%f", "2025-03-03 04:05:06.0071", "2025-03-03T04:05:06.007Z"},
		{"%Y%m%d%H%M%S", "20250303040506", "2025-03-03T04:05:06Z"}, {"%Y%m%d%H%M%S", "202503030405", ""},
		{"%A, %e %B %Y %R %z", "Monday,  3 March 2025 04:05 -0030", "2025-03-03T04:35:00Z"},
		{"day %d of %m %% %Y", "day 3 of  3 % 2025", "2025-03-03T00:00:00Z"},
		{"%Y-%m-%d", "2025-03-03 ", "2025-03-03T00:00:00Z"}, {"%Y-%m-%d", "2025-03-03x", ""}, {"%Y-%m-%d", "25-03-03",
			""},
		{"%{2025}%b %d %T", "Mar  3 04:05:06", "2025-03-03T04:05:06Z"}, {"%{2025}%b %d", "Feb 29", ""},
		{"%Y", "2025", "2025-01-01T00:00:00Z"}, {"%Y", "2025-03", ""}, {"%y", "88", "1988-01-01T00:00:00Z"},
		{"%Y-%m", "2025-03", "2025-03-01T00:00:00Z"}, {"%b %Y", "Mar 2025", "2025-03-01T00:00:00Z"},
		{"%Y-%j", "2024-366", "2024-12-31T00:00:00Z"}, {"%Y-%j", "2025-366", ""}, {"%Y-%j", "2025-000", ""},
		{"%y%j %R", "25060 04:05", "2025-03-01T04:05:00Z"},
	} {
		if got := readTime(t, timeFormat(c.layout, ""), c.text); got != c.want {
			t.Errorf("%q by %q: got %q, want %q", c.text, c.layout, got, c.want)
		}
	}
	for layout, want := range map[string]string{
		"%Y-%d": "no month", "%G-W%V": "%G is not a directive", "%Y-%m-%j": "a day of the year", "%Y-%m %H": "no day",
		"%d.%m": "a year", "%Y-%m-%d %I": "each other", "%Y-%m-%d %p": "each other", "%Y-%m-%d%": "single %",
		"%Y-%m-%d %Q": "%Q is not a directive", "%Y-%m-%d %Y": "%Y twice", "%F %{2025}": "%Y twice",
		"%{25}%b %d": "%{ is not a directive", "%F %H.%f": "follow the second",
	} {
		if err := timeFormat(layout, "").Check(); err == nil || !strings.Contains(err.Error(), want) ||
			CheckLayout(layout) == nil {
			t.Errorf("%q: %v, want %q", layout, err, want)
		}
	}
}

// A reading shown twice means the first time, a skipped one is read as if the clocks had not been
// set yet, and a time with an offset is not moved.
func TestTimesWithoutAZoneAreThoseOfTheConfiguredOne(t *testing.T) {
	for _, c := range []struct{ zone, text, want string }{
		{"", "2025-03-03 01:00", "2025-03-03T01:00:00Z"}, {"UTC", "2025-03-03 01:00", "2025-03-03T01:00:00Z"},
		{"Europe/Zurich", "2025-03-03 01:00", "2025-03-03T00:00:00Z"}, {"Europe/Zurich", "2025-07-03 01:00",
			"2025-07-02T23:00:00Z"},
		{"Europe/Zurich", "2025-03-03 01:00Z", "2025-03-03T01:00:00Z"}, {"Europe/Zurich", "2025-07-03 01:00 +0500",
			"2025-07-02T20:00:00Z"},
		{"Europe/Zurich", "2025-03-30 01:59", "2025-03-30T00:59:00Z"}, {"Europe/Zurich", "2025-03-30 02:30",
			"2025-03-30T01:30:00Z"}, {"Europe/Zurich", "2025-03-30 03:00", "2025-03-30T01:00:00Z"},
		{"Europe/Zurich", "2025-10-26 01:59", "2025-10-25T23:59:00Z"}, {"Europe/Zurich", "2025-10-26 02:30",
			"2025-10-26T00:30:00Z"}, {"Europe/Zurich", "2025-10-26 03:00", "2025-10-26T02:00:00Z"},
		{"Europe/Zurich", "2025-10-26 02:30 CEST", "2025-10-26T00:30:00Z"}, {"Europe/Zurich", "2025-10-26 02:30 CET",
			"2025-10-26T01:30:00Z"},
		{"Europe/Zurich", "2025-07-03 01:00 CET", ""}, {"Europe/Zurich", "2025-03-03 01:00 EST", ""},
		{"Europe/Zurich", "Mon Mar 3 01:00:00 CET 2025", "2025-03-03T00:00:00Z"},
		{"America/New_York", "2013-01-01", "2013-01-01T05:00:00Z"}, {"Asia/Kathmandu", "2013-01-01",
			"2012-12-31T18:15:00Z"},
	} {
		if got := readTime(t, timeFormat("", c.zone), c.text); got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.text, c.zone, got, c.want)
		}
	}
	for _, zone := range []string{"Local", "CEST", "Europe/Nowhere", "../etc/passwd", "+01:00"} {
		if err := timeFormat("", zone).Check(); err == nil || !strings.Contains(err.Error(), "time_zone") ||
			CheckZone(zone) == nil {
			t.Errorf("%q: %v", zone, err)
		}
	}
	for _, f := range []Format{timeFormat("%F", ""), timeFormat("", "UTC")} {
		f.TimeUnit = "rfc3339"
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "only used with time unit text") {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// If a clock shows every time once, a time in a zone is what package time makes of it.
func TestTimesInZonesAgreeWithPackageTime(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 5, 27))
	for _, name := range []string{"Europe/Zurich", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia",
		"Africa/Casablanca", "Asia/Tehran"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		d := newDecoder(t, timeFormat("", name))
		for range 3000 {
			moment := time.Unix(rng.Int64N(2_200_000_000), 0).In(zone)
			wall := moment.Format(time.DateTime)
			got, ok := d.parseTime([]byte(wall))
			if back := time.UnixMilli(got).In(zone).Format(time.DateTime); !ok || back != wall {
				t.Fatalf("%s in %s: %d, which is %s there", wall, name, got, back)
			}
			if got > moment.UnixMilli() {
				t.Fatalf("%s in %s: %d is later than %d, which shows the same", wall, name, got, moment.UnixMilli())
			}
		}
	}
}

// FuzzTimeText: no text makes the reader panic, and a text is one time whatever surrounds it.
func FuzzTimeText(f *testing.F) {
	for _, seed := range []string{"2025-03-03 04:05:06.7 +01:00", "Mon, 03 Mar 2025 04:05:06 GMT",
		"[03/Mar/2025:05:05:06 +0100]", "20250303", "Mon Mar  3 04:05:06 UTC 2025", "9999-12-31T23:59:59.999-12:00",
		"[", "+", "%d"} {
		f.Add([]byte(seed), seed)
	}
	d := newDecoder(f, timeFormat("", "Europe/Zurich"))
	f.Fuzz(func(t *testing.T, text []byte, layout string) {
		got, ok := d.parseTime(text)
		if again,
			still := d.parseTime([]byte(fmt.Sprintf(" [%s] ", strings.Trim(string(text),
			"[] \t\n\v\f\r\u0085\u00a0")))); ok && (!still || again != got) && utfSpaces(text) {
			t.Errorf("%q is %d, and in brackets %d, %v", text, got, again, still)
		}
		if ok {
			if round, still := d.parseTime([]byte(time.UnixMilli(got).UTC().Format(time.RFC3339Nano))); !still ||
				round != got {
				t.Errorf("%q is %d, and then %d, %v", text, got, round, still)
			}
		}
		if l, err := parseLayout(layout); err == nil {
			parseTimeText(text, []timeLayout{l}, d.zone)
		}
	})
}

// utfSpaces reports whether the spaces around a text are those that the test trims.
func utfSpaces(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func TestHowTextsAreReadAsTimesIsPartOfTheIdentity(t *testing.T) {
	seen := map[string]Format{}
	for _, f := range []Format{timeFormat("", ""), timeFormat("%F", ""), timeFormat("", "Europe/Zurich"),
		timeFormat("%F", "Europe/Zurich")} {
		id, err := f.Identity("")
		if err != nil {
			t.Fatal(err)
		}
		if other, same := seen[id.Time]; same {
			t.Errorf("%+v and %+v are both %q", f, other, id.Time)
		}
		seen[id.Time] = f
		avro := Format{Format: Avro, Schema: `{"type":"record","name":"V","fields":[{"name":"u","type":"string"},` +
			`{"name":"t","type":"string"}]}`, User: "u", Time: "t", TimeUnit: f.TimeUnit, TimeLayout: f.TimeLayout,
			TimeZone: f.TimeZone}
		if id, err = avro.Identity(""); err != nil || seen[id.Time].Format != "" {
			t.Errorf("%+v: %v, or another has %q", avro, err, id.Time)
		}
		seen[id.Time] = avro
	}
	utc, named := timeFormat("", ""), timeFormat("", "UTC")
	a, _ := utc.Identity("")
	if b, err := named.Identity(""); err != nil || a.Time != b.Time {
		t.Errorf("UTC by its name is %q, and by default %q, %v", b.Time, a.Time, err)
	}
}

func TestLayoutsOfDatesHaveNeitherHourNorOffset(t *testing.T) {
	for layout, want := range map[string]bool{
		"": false, "%Y-%m-%d": true, "%F": true, "%D": true, "%a, %d %b %Y": true, "%Y-%m-%dT00:00:00Z": true,
		"%d.%m.%Y %%H": true,
		"%F %T":        false, "%F %R": false, "%m/%d/%Y %I %p": false, "%F %H": false, "%F %z": false, "%F%Z": false,
		"%F %%%H": false,
	} {
		if got := OnlyDates(layout); got != want {
			t.Errorf("%q: %v", layout, got)
		}
	}
}
