package command

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A line may come in parts, or several at once, and what looks like an object of another program is
// a message.
func TestJSONLinesAreWholeLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	moment := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	j := &jsonLines{w: &b, now: func() time.Time { return moment }}
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
	a := &App{Stderr: j}
	a.Logger(j, slog.LevelWarn).Error("c", slog.Any("why", errors.New("d")))
	if got := b.String()[len(want):]; !strings.Contains(got, `"msg":"rest"}`+"\n{") || !strings.HasSuffix(got,
		`"level":"ERROR","msg":"c","why":"d"}`+"\n") {
		t.Errorf("%s", got)
	}
}
