package command

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
	"github.com/tollgate-dp/tollgate/state/units"
)

// badValue is an error in the value of a flag: must says what it must be. Execute adds the given
// value and an example.
type badValue struct{ flag, must string }

func (e *badValue) Error() string { return fmt.Sprintf("--%s must be %s", e.flag, e.must) }

// Must returns the error for a bad value of a flag. The text completes "it must be".
func Must(flag, format string, args ...any) error {
	return Usage(&badValue{flag, fmt.Sprintf(format, args...)})
}

// FlagError names the flag in the error for a number that is out of range.
func FlagError(err error) error {
	var out *units.RangeError
	if errors.As(err, &out) {
		return Must(out.Parameter, "%s", out.Range)
	}
	return err
}

// explain returns the complete text of a badValue.
func (e *badValue) explain(flag *pflag.Flag) string {
	if flag == nil {
		return e.Error()
	}
	given := secret.Redact(flag.Value.String())
	return fmt.Sprintf("--%s is %s: it must be %s%s", e.flag, given, e.must, cli.Example(flag))
}

// durationValue is the value of a flag that takes a duration, written as in a configuration.
type durationValue struct{ to *time.Duration }

// DurationFlag adds a flag that takes a duration.
func DurationFlag(flags *pflag.FlagSet, to *time.Duration, name string, initial time.Duration, text string) {
	*to = initial
	flags.Var(durationValue{to}, name, text)
}

func (v durationValue) Type() string { return "duration" }

func (v durationValue) String() string {
	if v.to == nil || *v.to == 0 {
		return "0" // so that the help shows no default
	}
	return timespan.Text(*v.to)
}

func (v durationValue) Set(text string) error {
	d, err := timespan.Parse(text)
	if err == nil {
		*v.to = d
	}
	return err
}

// Accountant is the value of --accountant in commands that compute a deployment's budget.
type Accountant budgets.Accountant

func AccountantFlag(flags *pflag.FlagSet, to *Accountant) {
	*to = Accountant(budgets.GDP)
	names := budgets.AccountantNames()
	for i, name := range names {
		if a, ok := compose.Named(name); ok && a.Note() != "" {
			names[i] += " (" + a.Note() + ")"
		}
	}
	flags.Var(to, "accountant", "how (epsilon, delta) becomes a budget: "+spelling.List(names, " or "))
}

func (v *Accountant) String() string { return string(*v) }

func (v *Accountant) Type() string { return strings.Join(budgets.AccountantNames(), "|") }

func (v *Accountant) Set(text string) error {
	parsed, err := budgets.ParseAccountant(text)
	if err != nil {
		if budgets.Accountant(text) == budgets.RDP {
			return err
		}
		return errors.New("it must be " + spelling.List(budgets.AccountantNames(), " or "))
	}
	*v = Accountant(parsed)
	return nil
}

// TimeValue is a point in time; zero until it is given.
type TimeValue struct {
	time.Time
	Offset bool // the text contained an offset from UTC
	Local  bool // a reading of the clock in the time zone, written as if it were UTC

	Words []string // other texts that the flag accepts; "now" is the time at which it is parsed
	Word  string   // the one of Words that was given; "" for a time
}

// In converts the time to a reading of a zone's clock. A text without an offset is already one.
func (v *TimeValue) In(zone string) {
	clock := wallclock.Of(zone)
	if v.IsZero() || clock == nil || v.Local {
		return
	}
	if v.Local = true; v.Offset {
		v.Time = time.UnixMilli(clock.Reading(v.UnixMilli())).UTC()
	}
}

// Moment returns the given time. A time without an offset is local time in the zone.
func (v *TimeValue) Moment(zone string) time.Time {
	if v.Offset && !v.Local {
		return v.Time
	}
	if v.In(zone); v.Local {
		return time.UnixMilli(wallclock.Of(zone).Time(v.UnixMilli())).UTC()
	}
	return v.Time
}

// localTime is the layout of times without an offset.
const localTime = "2006-01-02T15:04:05"

func (v *TimeValue) String() string {
	switch {
	case v.Word != "" || v.IsZero():
		return v.Word
	case v.Local:
		return v.Format(localTime)
	}
	return v.Format(time.RFC3339)
}

func (v *TimeValue) Type() string { return strings.Join(append(slices.Clone(v.Words), "time"), "|") }

func (v *TimeValue) Set(text string) error {
	*v = TimeValue{Words: v.Words}
	if slices.Contains(v.Words, text) {
		if v.Word = text; text == "now" {
			v.Time, v.Offset = time.Now().UTC(), true
		}
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, localTime} {
		if t, err := time.Parse(layout, text); err == nil {
			if t.Before(time.UnixMilli(0)) { // the zero time: the flag was not given
				return errors.New("it must not be before 1970")
			}
			v.Time, v.Offset = t.UTC(), layout == time.RFC3339
			return nil
		}
	}
	return errors.New("it must be " + strings.Join(append(slices.Clone(v.Words), "a time like 2025-03-03T00:00:00Z",
		"a day like 2025-03-03"), " or "))
}

// StrictFlag adds --strict to a command that checks the topics.
func StrictFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "strict", false, "fail (exit code 3) where this command only warns otherwise: topics that "+
		"lose records if one broker is lost, secrets that others can read, settings with which nothing can be released")
}

// Checking returns the options of a check of the topics, which logs weaknesses on stderr.
func (a *App) Checking(strict bool) pipeline.CheckOptions {
	return pipeline.CheckOptions{Logger: a.Logger(a.Stderr, slog.LevelWarn), Strict: strict}
}

// Listen listens on the address given with --listen.
func Listen(address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, Must("listen", "host:port with a port up to 65535, for example 127.0.0.1:8080, or :8080 for all "+
			"addresses")
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--listen %s: another process uses this port: end it, or choose another port", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("--listen %s: this user may not use this port: choose one from 1024 up", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("--listen %s: this machine does not have this address: choose one that it has, or "+
			"0.0.0.0 for all", address)
	case err != nil:
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	return l, nil
}
