package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
)

// screen is what a page is shown on.
type screen struct {
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Ratio  float64 `json:"deviceScaleFactor"`
	Mobile bool    `json:"mobile"`
}

var (
	desktop = screen{1280, 900, 1, false}
	phone   = screen{390, 844, 2, true}
)

// tab is a page in a browser that a test drives by Chromium's DevTools protocol, over the pipe of
// --remote-debugging-pipe: messages are JSON and end in a zero byte. Not for concurrent use.
type tab struct {
	t       testing.TB
	in      *os.File
	out     *bufio.Reader
	session string
	id      int
}

type reply struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  *struct{ Message string }
}

// browse shows a page of a file: see visit.
func browse(t testing.TB, html string, s screen, scheme string) *tab {
	t.Helper()
	browser(t)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	return visit(t, (&url.URL{Scheme: "file", Path: file}).String(), s, scheme)
}

// visit shows the page at an address on a screen, light or dark, and returns once it is loaded.
// Scripts run before the page's own. What the page writes to its console is an error. The
// browser ends with the test.
func visit(t testing.TB, address string, s screen, scheme string, scripts ...string) *tab {
	t.Helper()
	b := start(t, browser(t), filepath.Join(t.TempDir(), "profile"))
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Log", "Runtime"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setDeviceMetricsOverride", s, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme",
		"value": scheme}}}, nil)
	for _, script := range scripts {
		b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
	}
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	for b.read().Method != "Page.loadEventFired" {
	}
	return b
}

func start(t testing.TB, path, profile string) *tab {
	t.Helper()
	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir=" + profile,
	}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &tab{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() {
		in.Close()                                                             // it ends when its pipe does
		ended := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() }) //nolint:errcheck // it is over then
		defer ended.Stop()
		cmd.Wait() //nolint:errcheck // its exit code does not depend on the page
		out.Close()
		// Processes of its own outlive it by a moment, and write to its profile.
		await.That(t, 10*time.Second, "the browser's profile can be removed", func() bool {
			return os.RemoveAll(profile) == nil
		})
	})
	if err := out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		t.Fatal(err)
	}
	return b
}

func (b *tab) read() reply {
	b.t.Helper()
	text, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("reading from the browser: %v", err)
	}
	var r reply
	if err := json.Unmarshal(text[:len(text)-1], &r); err != nil {
		b.t.Fatal(err)
	}
	switch r.Method {
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		b.t.Errorf("console: %s", text)
	}
	return r
}

// call waits for the response to a command, and reads it into out, if there is one.
func (b *tab) call(method string, params, out any) {
	b.t.Helper()
	b.id++
	text, err := json.Marshal(struct {
		ID        int    `json:"id"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
		SessionID string `json:"sessionId,omitempty"`
	}{b.id, method, params, b.session})
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatalf("writing to the browser: %v", err)
	}
	for {
		r := b.read()
		if r.ID != b.id {
			continue
		}
		if r.Error != nil {
			b.t.Fatalf("%s: %s", method, r.Error.Message)
		}
		if out != nil {
			if err := json.Unmarshal(r.Result, out); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// eval runs a script on the page, awaits its promise, and reads the value into out.
func (b *tab) eval(script string, out any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, r.ExceptionDetails)
	}
	if err := json.Unmarshal(r.Result.Value, out); err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
}
