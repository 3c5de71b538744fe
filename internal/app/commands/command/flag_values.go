package command

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Must returns the error for a bad value of a flag. The text completes "it must be".
func Must(flag, format string, args ...any) error {
	return Usage(fmt.Errorf("--%s must be %s", flag, fmt.Sprintf(format, args...)))
}

// FlagError names the flag in the error for a number that is out of range.
func FlagError(err error) error {
	var out *units.RangeError
	if errors.As(err, &out) {
		return Must(out.Parameter, "%s", out.Range)
	}
	return err
}

// DurationFlag adds a flag that takes a duration, written as in a configuration.
func DurationFlag(flags *pflag.FlagSet, to *time.Duration, name string, initial time.Duration, text string) {
	*to = initial
	flags.Var(cli.Parsed("duration", func() string {
		if *to == 0 {
			return "0" // so that the help shows no default
		}
		return timespan.Text(*to)
	}, func(text string) (err error) {
		*to, err = timespan.Parse(text)
		return err
	}), name, text)
}

// AccountantFlag adds --accountant to a command that computes a deployment's budget.
func AccountantFlag(flags *pflag.FlagSet, to *string) {
	*to = string(budgets.GDP)
	names := budgets.AccountantNames()
	described := slices.Clone(names)
	for i, name := range names {
		if a, ok := compose.Named(name); ok && a.Note() != "" {
			described[i] += " (" + a.Note() + ")"
		}
	}
	flags.Var(cli.Parsed(strings.Join(names, "|"), func() string { return *to }, func(text string) error {
		parsed, err := budgets.ParseAccountant(text)
		*to = string(parsed)
		if err != nil && budgets.Accountant(text) != budgets.RDP {
			err = errors.New("it must be " + spelling.List(names, " or "))
		}
		return err
	}), "accountant", "how (epsilon, delta) becomes a budget: "+spelling.List(described, " or "))
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
	if err != nil {
		return nil, fmt.Errorf("--listen: %w: choose a free port of this machine", err)
	}
	return l, nil
}
