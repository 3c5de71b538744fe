package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// browser finds a Chromium. Without one the tests that need it are skipped,
// unless TOLLGATE_REQUIRE_BROWSER is set: .ci/run report installs one and sets it.
func browser(t testing.TB) string {
	t.Helper()
	required := os.Getenv("TOLLGATE_REQUIRE_BROWSER") != ""
	if !required {
		long.Test(t) // seconds a page
	}
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	if name := os.Getenv("CHROMIUM"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no Chromium in PATH: install one, name one in CHROMIUM, or let `.ci/run report` install it"
	if required {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

var (
	rootTag   = regexp.MustCompile(`(?s)<html[^>]*>`)
	canvasTag = regexp.MustCompile(`(?s)<canvas[^>]*>`)
	blank     = regexp.MustCompile(`<canvas[^>]*data-points="0"`)
)

func TestPagesInABrowser(t *testing.T) {
	browser(t)
	for _, tc := range []struct {
		name     string
		sample   sample
		canvases int
		points   string
	}{
		{"pages", pages(), 2, `data-points="144"`},
		{"mixed", mixed(), 8, `data-points="778"`},
		{"hostile", hostile(), 4, `data-points="96"`},
		{"many", many(500, 600), 2, `data-points="250000"`},
		{"one key, many windows", many(1, 2000), 2, `data-points="2000"`},
		{"empty", sample{promise: pages().promise}, 0, `data-points="0"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			var dom string
			browse(t, render(t, tc.sample, MaxPoints, written), desktop, "light").eval(`document.documentElement.outerHTML`, &dom)
			t.Logf("%v", time.Since(began))
			root := rootTag.FindString(dom)
			for _, attribute := range []string{`data-ready="true"`, `data-errors="0"`, tc.points} {
				if !strings.Contains(root, attribute) {
					t.Errorf("the page is %s, without %s", root, attribute)
				}
			}
			if got := len(canvasTag.FindAllString(dom, -1)); got != tc.canvases || blank.MatchString(dom) {
				t.Errorf("%d canvases, want %d (a chart and its cursor), none without points", got, tc.canvases)
			}
			if !strings.Contains(dom, "<title>Page views</title>") || strings.Contains(dom, "<img") || strings.Contains(dom, "<svg") {
				t.Error("a name became markup")
			}
		})
	}
}

// driven is what testdata/drive.js says.
type driven struct {
	Failed string
	Charts []struct {
		Points, Colours int
		Label           string
	}
	Hover, Home, Right, End                  string
	Left, Escape, Sorted                     bool
	Zoomed, Unzoomed, Unticked, Rows, Darker int
	First, Plain, Exact                      int
	Last                                     string
	Found, Largest                           []string
	Blank, Direction, CSV, Errors            string
}

func TestUsingAPage(t *testing.T) {
	browser(t)
	script, err := os.ReadFile(filepath.Join("testdata", "drive.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := mixed()
	html := render(t, s, MaxPoints, written)
	html = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(html, "")
	html = strings.Replace(html, "</body>", "<script>"+string(script)+"</script></body>", 1)
	var d driven
	browse(t, html, desktop, "light").eval(`said`, &d)
	if d.Failed != "" || d.Errors != "0" || d.Blank != "" {
		t.Fatalf("failed %q, %s errors, blank with %q", d.Failed, d.Errors, d.Blank)
	}
	for _, c := range d.Charts {
		if c.Points < 90 || c.Colours < 10 || c.Label == "" {
			t.Errorf("chart %+v", c)
		}
	}
	checkReading(t, d)
	checkControls(t, d, len(s.releases))
}

func checkReading(t *testing.T, d driven) {
	for _, part := range []string{"2025-03-04", "UTC", "noise at 95 %", "weather", "not released in this window"} {
		if !strings.Contains(d.Hover, part) {
			t.Errorf("the tooltip says %q, without %q", d.Hover, part)
		}
	}
	for said, want := range map[string]string{d.Home: "2025-03-03 00:00–01:00: weather ", d.Right: "2025-03-03 01:00–02:00: weather ", d.End: "2025-03-06 23:00–00:00: weather "} {
		if !strings.HasPrefix(said, want) {
			t.Errorf("a key press says %q, want %q", said, want)
		}
	}
	if !d.Left || !d.Escape {
		t.Error("the tooltip stays")
	}
}

func checkControls(t *testing.T, d driven, releases int) {
	if d.Zoomed <= 0 || d.Unzoomed != 0 {
		t.Errorf("zooming in hides %d points, all shows all but %d", d.Zoomed, d.Unzoomed)
	}
	if d.Unticked != 1 || strings.Join(d.Found, ",") != "train times" || len(d.Largest) != 1 || !regexp.MustCompile(`^weather[\d,]+± \d+▼ −\d+ %$`).MatchString(d.Largest[0]) {
		t.Errorf("a key unticked: %d fewer; found %q; largest %q", d.Unticked, d.Found, d.Largest)
	}
	if d.Rows != pageRowsOfTable || !d.Sorted || d.Direction != "descending" {
		t.Errorf("%d rows, sorted %v, %s", d.Rows, d.Sorted, d.Direction)
	}
	if d.Last != "weather,train times" || d.First != 1 {
		t.Errorf("the table begins with %q of %d windows, want the largest keys of the last one first", d.Last, d.First)
	}
	if d.Plain != 0 || d.Exact != 0 {
		t.Errorf("%d exact terms are seen at first, %d are not once they are asked for", d.Plain, d.Exact)
	}
	lines := strings.Split(strings.TrimSpace(d.CSV), "\r\n")
	if want := `metric,window_start,window_end,key,value,stddev,low,high,confidence,met,rungs`; lines[0] != want {
		t.Errorf("CSV begins %q", lines[0])
	}
	searches := (releases - 96*4) / 2 // as many as of revenue, which takes its keys
	if len(lines) != 1+searches || !strings.HasPrefix(lines[1], "searches,2025-03-03T00:00:00.000Z,2025-03-03T01:00:00.000Z,") {
		t.Errorf("CSV of %d lines, want %d; %q", len(lines), 1+searches, lines[1])
	}
	if d.Darker < 100 {
		t.Errorf("the dark chart is darker by %d", d.Darker)
	}
}

// pageRowsOfTable is pageRows of page/table.js.
const pageRowsOfTable = 20
