package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
)

// badValue says what the value of a flag must be. app.execute adds the value that was given,
// and an example.
type badValue struct{ flag, must string }

func (e *badValue) Error() string { return fmt.Sprintf("--%s must be %s", e.flag, e.must) }

// Must refuses the value of a flag, which must be what the text says.
func Must(flag, format string, args ...any) error {
	return Usage(&badValue{flag, fmt.Sprintf(format, args...)})
}

// FlagError names the flag of a number that is out of range.
func FlagError(err error) error {
	var out *units.RangeError
	if errors.As(err, &out) {
		return Must(out.Parameter, "%s", out.Range)
	}
	return err
}

// explain completes a badValue.
func (e *badValue) explain(flag *pflag.Flag) string {
	if flag == nil {
		return e.Error()
	}
	given := secret.Redact(flag.Value.String())
	return fmt.Sprintf("--%s is %s: it must be %s%s", e.flag, given, e.must, cli.Example(flag, given))
}

// durationValue is the value of a flag for a duration, written as in a configuration.
type durationValue struct{ to *time.Duration }

// DurationFlag adds a flag with a duration to flags.
func DurationFlag(flags *pflag.FlagSet, to *time.Duration, name string, initial time.Duration, text string) {
	*to = initial
	flags.Var(durationValue{to}, name, text)
}

func (v durationValue) Type() string { return "duration" }

func (v durationValue) String() string {
	if v.to == nil || *v.to == 0 {
		return "0" // no default in the help
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
