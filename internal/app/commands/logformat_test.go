package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// Whatever a run writes to stderr elsewhere than on a terminal is one object a line, with a time, a
// level and a message: notes, warnings, the log, and the error of the end. What keys and users are
// made of is not in it.
func TestLogsAreObjectsElsewhereThanOnATerminal(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cfg := deploymentFile(t, broker(t))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "2", "--start", "2025-03-01T00:00:00Z")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	var out, errs bytes.Buffer
	a := app{stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
	before := time.Now()
	a.execute(context.Background(), []string{"run", "--config", cfg, "--until-end", "--wait", "1m"})
	a.stderr = &errs
	if code := a.execute(context.Background(), []string{"run", "--config", deploymentFile(t, "127.0.0.1:1"), "--wait-for-broker", "0s"}); code != exitConfig && code != exitError {
		t.Errorf("exit %d", code)
	}
	levels := map[string]int{}
	for line := range strings.Lines(errs.String()) {
		var r struct {
			Time       time.Time
			Level, Msg string
		}
		decoder := json.NewDecoder(strings.NewReader(line))
		if err := decoder.Decode(&r); err != nil || r.Msg == "" || r.Time.Before(before) || strings.Contains(line, "person-") || strings.Contains(line, "north") {
			t.Errorf("%v: %s", err, line)
		}
		levels[r.Level]++
	}
	if levels["INFO"] == 0 || levels["WARN"] == 0 || levels["ERROR"] != 1 || len(levels) != 3 {
		t.Errorf("levels %v of\n%s", levels, &errs)
	}
	if code, _, stderr := run(t, "run", "--config", cfg, "--log-format", "yaml"); code != exitUsage || !strings.Contains(stderr, "auto, text or json") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// A line may come in parts, or several at once, and what looks like an object of another program is
// a message.
func TestJSONLinesAreWholeLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	j := &jsonLines{w: &b, now: func() time.Time { return at }}
	for _, part := range []string{"a \"quo", "ted\" line\n\nwarning: b\n{broken\n", `{"level":"WARN"}` + "\nrest"} {
		if n, err := j.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	want := `{"time":"2025-03-01T00:00:00Z","level":"INFO","msg":"a \"quoted\" line"}
{"time":"2025-03-01T00:00:00Z","level":"WARN","msg":"b"}
{"time":"2025-03-01T00:00:00Z","level":"INFO","msg":"{broken"}
{"level":"WARN"}
`
	if b.String() != want {
		t.Errorf("%s, want %s", &b, want)
	}
	if _, err := j.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	a := &app{stderr: j}
	a.logger(j, slog.LevelWarn).Error("c", slog.Any("why", errors.New("d")))
	if got := b.String()[len(want):]; !strings.Contains(got, `"msg":"rest"}`+"\n{") || !strings.HasSuffix(got, `"level":"ERROR","msg":"c","why":"d"}`+"\n") {
		t.Errorf("%s", got)
	}
}
