package terminal

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

var monday = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)

// day makes up n windows of three keys; the smallest key misses its targets at
// night and is not released twice.
func day(n int, size time.Duration) []Row {
	r := rand.New(rand.NewPCG(1, 2)) // fixed seed: golden files show it
	var rows []Row
	for i := range n {
		for k, key := range []string{"/home", "/checkout", "/help"} {
			truth := 1600 / float64(k*k+1) * (1 - 0.55*math.Cos(2*math.Pi*(float64(i%24)-5)/24))
			margin := math.Max(0.1*truth, 45)
			if k == 2 && i >= 2 && i < 4 {
				continue
			}
			value := truth + margin/2*r.NormFloat64()
			start := monday.Add(time.Duration(i) * size)
			rows = append(rows, Row{
				Start: start, End: start.Add(size), Key: key, Value: value,
				Low: value - margin, High: value + margin, Met: margin < 0.12*truth,
			})
		}
	}
	return rows
}

func options(n int, size time.Duration) ChartOptions {
	return ChartOptions{
		From: monday, To: monday.Add(time.Duration(n) * size), Window: size, Width: 80, MaxKeys: 8,
	}
}

func TestChartGolden(t *testing.T) {
	golden.File(t, "testdata/chart_day.golden", Chart(day(24, time.Hour), options(24, time.Hour)))
	months := options(100, 24*time.Hour)
	months.MaxKeys = 2
	rows := day(100, 24*time.Hour)
	for i := range rows {
		if rows[i].Key == "/help" {
			rows[i].Key, rows[i].Statistic, rows[i].Unasked = "/home", "mean", true
			rows[i].Value -= 200
		}
	}
	golden.File(t, "testdata/chart_months.golden", Chart(rows, months))
}

func TestTableGolden(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b, TableOptions{Width: 80, Window: time.Hour, Confidence: 0.95, Target: true,
		Keys: []string{"/home", "/checkout", "/help"}})
	for _, part := range [][]Row{day(3, time.Hour), {
		{Start: monday.Add(4 * time.Hour), End: monday.Add(5 * time.Hour), Key: "ключ\x1b[31m\u202e red",
			Value: -3.14159, Low: -4, High: -2},
		{Start: monday.Add(4 * time.Hour), End: monday.Add(5 * time.Hour), Key: strings.Repeat("long", 9),
			Value: 12345678.25, Low: 12345000, High: 12346356.5, Met: true},
	}} {
		must.Succeed(t, table.Rows(part))
	}
	golden.File(t, "testdata/table.golden", b.String())
}

// Whatever is drawn, no line is wider than asked for and no escape sequence
// gets out.
func TestNothingIsWiderThanAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "windows")
		size := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 90 * time.Minute,
			7 * 24 * time.Hour}).Draw(t, "size")
		keys := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "keys")
		value := rapid.Float64Range(-1e13, 1e13)
		var rows []Row
		for i := range n {
			start := monday.Add(time.Duration(i) * size)
			v, m := value.Draw(t, "v"), math.Abs(value.Draw(t, "m"))
			rows = append(rows, Row{Start: start, End: start.Add(size), Key: keys[i%len(keys)], Value: v, Low: v - m,
				High: v + m})
		}
		var b bytes.Buffer
		for i := range rows { // six digits and decimals is what a column is made for
			rows[i].Value, rows[i].Low, rows[i].High = rows[i].Value/1e8, rows[i].Low/1e8, rows[i].High/1e8
		}
		b.WriteString(Chart(rows, options(n, size)))
		must.Succeed(t, NewTable(&b, TableOptions{Width: 80, Window: size, Confidence: 0.95, Target: true}).Rows(rows))
		for line := range strings.SplitSeq(b.String(), "\n") {
			if w := uniseg.StringWidth(line); w > 80 || strings.ContainsRune(line, '\x1b') || !utf8.ValidString(line) {
				t.Fatalf("a line of %d columns: %q", w, line)
			}
		}
	})
}

func TestNumber(t *testing.T) {
	for _, tc := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0, 0, "0"}, {-0.2, 0, "0"}, {-0.04, 1, "0.0"}, {999, 0, "999"}, {1000, 0, "1,000"},
		{-1234567.891, 2, "-1,234,567.89"},
		{0.5, 2, "0.50"}, {-100, 0, "-100"}, {1e15, 0, "1,000,000,000,000,000"},
	} {
		if got := Number(tc.v, tc.decimals); got != tc.want {
			t.Errorf("Number(%v, %d) = %q, want %q", tc.v, tc.decimals, got, tc.want)
		}
	}
}

// Keys that begin alike stay apart where there is no room for them.
func TestLongKeysAreCutInTheMiddle(t *testing.T) {
	for width, want := range map[int]string{40: "https://example.com/shop/item-1", 24: "https://exam…shop/item-1",
		3: "h…1", 1: "…", 0: "…"} {
		if got := Key("https://example.com/shop/item-1", width); got != want {
			t.Errorf("in %d columns %q, want %q", width, got, want)
		}
	}
}

// statistics has a number of events, a mean and a standard deviation for each key of one window.
// The means are larger for keys with fewer events.
func statistics(events map[string]float64, keys ...string) (rows []Row) {
	for _, key := range keys {
		row := func(statistic string, v float64) Row {
			return Row{Start: monday, End: monday.Add(time.Hour), Key: key, Statistic: statistic, Value: v, Low: v - 1,
				High: v + 1, Unasked: statistic != "", Lopsided: statistic != ""}
		}
		n := events[key]
		rows = append(rows, row("", n), row("standard_deviation", 1e6/n), row("mean", 1e5/n))
	}
	return rows
}

// The table has the statistics of a key below it, in the order of their definitions, with their
// whole names or, if there is no room, a usual short form, and with decimals. It says that they
// have no target.
func TestStatisticsFollowTheirKey(t *testing.T) {
	rows := statistics(map[string]float64{"/a": 100, "/b": 3000, "/c": 2000}, "/a", "/b", "/c")
	for _, tc := range []struct {
		width int
		label string
	}{{80, "std_dev "}, {120, "standard_deviation "}} {
		want := []string{"/a ", tc.label, "mean ", "/b ", tc.label, "mean ", "/c ", tc.label, "mean "}
		var b bytes.Buffer
		table := NewTable(&b, TableOptions{Width: tc.width, Window: time.Hour, Confidence: 0.95, Target: true,
			Intervals: true, Statistics: map[string]string{"standard_deviation": "std_dev", "mean": ""}})
		must.Succeed(t, table.Rows(rows))
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")[2:]
		if len(lines) != len(want) {
			t.Fatalf("%d lines\n%s", len(lines), &b)
		}
		for i, line := range lines {
			label := strings.TrimSpace(string([]rune(line)[24:]))
			statistic := !strings.ContainsAny(want[i][:1], "/a")
			if !strings.HasPrefix(label, want[i]) || strings.Contains(line, "no target") != statistic ||
				strings.Contains(line, ".") != statistic || uniseg.StringWidth(line) > tc.width {
				t.Errorf("line %d is %q, want %q", i, line, want[i])
			}
		}
	}
}

func TestKeyCannotSteerTheTerminal(t *testing.T) {
	for key, want := range map[string]string{
		"plain": "plain", "": "", "a\x1b[2Jb": `a\x1b[2Jb`, "a\nb\t": `a\nb\t`, "\xff": `\xff`,
		"\u202eabc": `\u202eabc`,
		"日本語日本語日本語": "日本語日…日本語", "abcdefghijklmnopq": "abcdefgh…klmnopq",
	} {
		if got := Key(key, 16); got != want {
			t.Errorf("Key(%q) = %q, want %q", key, got, want)
		}
	}
}

// While nothing is settled the status shows, at growing intervals, that the run goes on.
func TestProgressShowsWhatIsWaitedFor(t *testing.T) {
	const want = `0 turns settled, 0 values released, first result at 14:02:05Z, 1s
0 turns settled, 0 values released, first result at 14:02:05Z, 31s
0 turns settled, 0 values released, first result at 14:02:05Z, 1m31s
0 turns settled, 0 values released, first result at 14:02:05Z, 3m31s
1 turn settled, 6 values released, 5m1s
1 turn settled, 6 values released, next result at 15:02:05Z, 5m2s
drained
`
	var b bytes.Buffer
	reading := monday
	p := NewProgress(&b, func() time.Time { return reading })
	next := func(status string) {
		reading = reading.Add(time.Second)
		p.Status(status)
		p.out.flush() // a line is left out while another is being written
	}
	for range 300 {
		next("first result at 14:02:05Z")
	}
	reading = reading.Add(time.Second)
	p.Settled(1, 6)
	p.out.flush()
	next("next result at 15:02:05Z")
	p.Done("drained")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// Whatever a message quotes, and wherever it is written, only the package's own sequences arrive.
func TestNoNameSteersTheTerminal(t *testing.T) {
	evil := "a\x1b[2J\r\x9b\x7f\u009b\u202e\U000e0001\tb\n"
	const want = `a\x1b[2J\r\x9b\u007f\u009b\u202e\udb40\udc01` + "\tb\n"
	for name, write := range map[string]func(*bytes.Buffer){
		"writer":   func(b *bytes.Buffer) { fmt.Fprint(Printable(b), evil) },
		"message":  func(b *bytes.Buffer) { Say(Printable(b), evil) },
		"progress": func(b *bytes.Buffer) { NewProgress(Printable(b), time.Now).Note("%s", evil[:len(evil)-1]) },
		"done":     func(b *bytes.Buffer) { NewProgress(Printable(b), time.Now).Done(evil[:len(evil)-1]) },
	} {
		var b bytes.Buffer
		if write(&b); b.String() != want {
			t.Errorf("%s: %q, want %q", name, b.String(), want)
		}
	}
}

// A character may be split over two writes, as a bufio.Writer splits it.
func TestPrintableKeepsCharactersOfTwoWrites(t *testing.T) {
	text := "é日本語𝄞\u202e\xe6\n" + strings.Repeat("äöü→", 40) + "\xff\xc3.\n"
	want := "é日本語𝄞\\u202e\\xe6\n" + strings.Repeat("äöü→", 40) + "\\xff\\xc3.\n"
	for size := 1; size <= 20; size++ {
		var b, buffered bytes.Buffer
		w := Printable(&b)
		for part := range slices.Chunk([]byte(text), size) {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatalf("%d of %d bytes, %v", n, len(part), err)
			}
		}
		through := bufio.NewWriterSize(Printable(&buffered), 16)
		fmt.Fprint(through, text[:size], text[size:])
		through.Flush() //nolint:errcheck // to memory
		if b.String() != want || buffered.String() != want {
			t.Errorf("parts of %d bytes: %q, buffered %q", size, b.String(), buffered.String())
		}
	}
}

func TestWindowText(t *testing.T) {
	for _, tc := range []struct {
		start, size time.Duration
		want        string
	}{
		{0, time.Hour, "2025-03-03 00:00–01:00"},
		{0, 24 * time.Hour, "2025-03-03"},
		{0, 48 * time.Hour, "2025-03-03 to 03-05"},
		{0, 365 * 24 * time.Hour, "2025-03-03 to 2026-03-03"},
		{time.Hour, 24 * time.Hour, "2025-03-03 01:00–01:00"},
		{0, 36 * time.Hour, "2025-03-03 00:00 to 03-04 12:00"},
		{15 * time.Second, 15 * time.Second, "2025-03-03 00:00:15–00:00:30"},
		{0, 250 * time.Millisecond, "2025-03-03 00:00:00.000–00:00:00.250"},
	} {
		if got := windowText(monday.Add(tc.start), monday.Add(tc.start+tc.size)); got != tc.want {
			t.Errorf("window %v + %v: got %q, want %q", tc.start, tc.size, got, tc.want)
		}
	}
}
