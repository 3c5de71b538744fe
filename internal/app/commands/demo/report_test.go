package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
)

// left lists what is in a directory beside one file.
func left(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestDemoWritesAReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, commandtest.Small("--report", path, "--format", "json")...)
	if code != command.ExitOK {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"<title>Tollgate demo</title>", "no user is protected", `<p class="mark">Made-up data`,
		"<dt>released values</dt><dd>8</dd>", "<dt>windows</dt><dd>4</dd>", "with all of their events in this demo",
		`"name":"events"`,
	} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the page lacks %q", part)
		}
	}
	_, error, _ := bytes.Cut(text, []byte(`<strong class="error">Typically `))
	if line, _, _ := bytes.Cut(error, []byte("\n")); !bytes.Contains(line, []byte("of the real count; forecast: ")) {
		t.Errorf("the page has no error of made-up events: %q", line)
	}
	if n := strings.Count(stdout, "\n"); n != 8 {
		t.Errorf("%d lines on stdout, want 8", n)
	}
	if names := left(t, path); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// The page of a file may be published: it says how large noise is, which released values show, and
// not how far they are from the real counts.
func TestRuleThePageOfAFileComparesNothingWithTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.html")
	_, fields := fileOf(t)
	_, stderr := mustRun(t, append([]string{"demo", "--window", "1d", "--absolute", "50", "--lasts", "3d", "--report",
		path}, fields...)...)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("real count")) || !bytes.Contains(text,
		[]byte(`<strong class="error">The noise is typically `)) || !strings.Contains(stderr,
		"of the real count") {
		t.Errorf("stderr %s, page %s", stderr,
			regexp.MustCompile(`<strong class="error">.*|.*real count.*`).FindAll(text, -1))
	}
}

// signaller sends the process an interrupt with the first release that is written; tests with one
// are not parallel.
type signaller struct {
	text bytes.Buffer
	sent bool
}

func (s *signaller) Write(text []byte) (int, error) {
	if !s.sent && bytes.Contains(text, []byte("window_start")) {
		s.sent = true
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			return 0, err
		}
	}
	return s.text.Write(text)
}

func TestAnInterruptedDemoWritesItsReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	var out signaller
	var errs bytes.Buffer
	a := &command.App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code := command.Execute(context.Background(), a, program, []string{
		"demo", "--events", "60000", "--users", "3000", "--windows", "400", "--keys-count", "2", "--format", "json",
		"--report", path,
	})
	if code != command.ExitOK || !strings.Contains(errs.String(), "stopped by a signal") {
		t.Fatalf("exit %d, stderr %q", code, errs.String())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`<dt>released values</dt><dd>([0-9,]+)</dd>`).FindSubmatch(text)
	if shown == nil || strings.ReplaceAll(string(shown[1]), ",", "") == "800" {
		t.Fatalf("the page shows %q values", shown)
	}
	if lines := strings.Count(out.text.String(), "\n"); !bytes.Contains(text, []byte(`"name":"events"`)) || lines == 0 {
		t.Errorf("%d lines on stdout", lines)
	}
}
