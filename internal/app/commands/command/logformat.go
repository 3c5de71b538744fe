package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// logFormat is the value of --log-format.
type logFormat string

const (
	logAuto logFormat = "auto"
	logText logFormat = "text"
	logJSON logFormat = "json"
)

// LogFlag adds --log-format to a long-running command. From its start, everything that the command
// writes to stderr has that format, including its last error.
func (a *App) LogFlag(cmd *cobra.Command) {
	f := logAuto
	cmd.Flags().Var(cli.OneOf(&f, logAuto, logText, logJSON), "log-format", "format of stderr: text for people, "+
		"json with one object a line; auto is text on a terminal, else json")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		tty, _ := terminal.Terminal(a.Stderr)
		if f == logJSON || f == logAuto && !tty {
			a.Stderr = &jsonLines{w: a.Stderr, now: time.Now}
		}
		return run(cmd, args)
	}
}

// Logger returns a logger for records of at least a level. w must write to stderr.
func (a *App) Logger(w io.Writer, level slog.Level) *slog.Logger {
	if _, ok := a.Stderr.(*jsonLines); ok {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(&plainLines{w: w, level: level})
}

// plainLines writes log records in the form of a command's own notes and warnings. It ignores
// groups.
type plainLines struct {
	w     io.Writer
	level slog.Level
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (p *plainLines) Enabled(_ context.Context, level slog.Level) bool { return level >= p.level }

// Handle implements slog.Handler.
func (p *plainLines) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	if r.Level >= slog.LevelWarn {
		text = "warning: " + text
	}
	add := func(a slog.Attr) bool { text += fmt.Sprintf(", %s: %v", a.Key, a.Value); return true }
	for _, a := range p.attrs {
		add(a)
	}
	r.Attrs(add)
	_, err := io.WriteString(p.w, text+"\n")
	return err
}

// WithAttrs implements slog.Handler.
func (p *plainLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &plainLines{p.w, p.level, slices.Concat(p.attrs, attrs)}
}

// WithGroup implements slog.Handler.
func (p *plainLines) WithGroup(string) slog.Handler { return p }

// jsonLines converts every line to an object with time, level and msg, as log/slog writes them.
// Lines that are objects already stay as they are. Safe for concurrent use.
type jsonLines struct {
	w   io.Writer
	now func() time.Time

	mu   sync.Mutex
	rest []byte // the start of a line that is not complete
}

// Write implements io.Writer. A line is written when it ends.
func (j *jsonLines) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest = append(j.rest, p...)
	var out bytes.Buffer
	for {
		end := bytes.IndexByte(j.rest, '\n')
		if end < 0 {
			break
		}
		j.line(&out, string(j.rest[:end]))
		j.rest = j.rest[end+1:]
	}
	if out.Len() == 0 {
		return len(p), nil
	}
	if _, err := j.w.Write(out.Bytes()); err != nil {
		return 0, err //nolint:wrapcheck // of a writer in place of another
	}
	return len(p), nil
}

func (j *jsonLines) line(out *bytes.Buffer, text string) {
	text = strings.TrimSpace(text)
	switch msg, warning := strings.CutPrefix(text, "warning: "); {
	case text == "":
	case text[0] == '{' && json.Valid([]byte(text)):
		out.WriteString(text + "\n")
	case warning:
		j.record(out, slog.LevelWarn, msg)
	default:
		j.record(out, slog.LevelInfo, text)
	}
}

func (j *jsonLines) record(out io.Writer, level slog.Level, msg string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(struct { //nolint:errcheck // if stderr fails, nothing can be logged
		Time  time.Time  `json:"time"`
		Level slog.Level `json:"level"`
		Msg   string     `json:"msg"`
	}{j.now().UTC(), level, msg})
}

// writeError writes the error that a command ends with.
func (a *App) writeError(text string) {
	if j, ok := a.Stderr.(*jsonLines); ok {
		var b strings.Builder
		j.record(&b, slog.LevelError, strings.TrimSpace(strings.TrimPrefix(text, "error: ")))
		text = b.String()
	}
	terminal.Say(a.Stderr, text)
}
