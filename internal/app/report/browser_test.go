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
	rootTag    = regexp.MustCompile(`(?s)<html[^>]*>`)
	pictureTag = regexp.MustCompile(`<svg[^>]* class="picture"[^>]*>`)
	blank      = regexp.MustCompile(`<svg[^>]*data-points="0"`)
)

func TestPagesInABrowser(t *testing.T) {
	browser(t)
	for _, tc := range []struct {
		name     string
		sample   sample
		pictures int
		points   string
	}{
		{"pages", pages(), 1, `data-points="144"`},
		{"mixed", mixed(), 4, `data-points="778"`},
		{"hostile", hostile(), 2, `data-points="96"`},
		{"many", many(500, 600), 1, `data-points="250000"`},
		{"one key, many windows", many(1, 2000), 1, `data-points="2000"`},
		{"empty", sample{promise: pages().promise}, 0, `data-points="0"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			var dom string
			browse(t, render(t, tc.sample, MaxPoints, written), desktop,
				"light").eval(`document.documentElement.outerHTML`, &dom)
			t.Logf("%v", time.Since(began))
			root := rootTag.FindString(dom)
			for _, attribute := range []string{`data-ready="true"`, `data-errors="0"`, tc.points} {
				if !strings.Contains(root, attribute) {
					t.Errorf("the page is %s, without %s", root, attribute)
				}
			}
			if got := len(pictureTag.FindAllString(dom, -1)); got != tc.pictures || blank.MatchString(dom) {
				t.Errorf("%d charts, want %d, none without points", got, tc.pictures)
			}
			if !strings.Contains(dom, "<title>Page views</title>") || strings.Contains(dom, "<img") ||
				strings.Contains(dom, "<svg/") {
				t.Error("a name became markup")
			}
		})
	}
}

func TestUsingAPage(t *testing.T) {
	browser(t)
	script, err := os.ReadFile(filepath.Join("testdata", "drive.js"))
	if err != nil {
		t.Fatal(err)
	}
	html := render(t, mixed(), MaxPoints, written)
	html = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(html, "")
	html = strings.Replace(html, "</body>", "<script>"+string(script)+"</script></body>", 1)
	var wrong []string
	browse(t, html, desktop, "light").eval(`used`, &wrong)
	for _, what := range wrong {
		t.Error(what)
	}
}
