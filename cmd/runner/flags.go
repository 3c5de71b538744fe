package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/config"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state"
)

// badValue says what the value of a flag must be. app.execute adds the value that was given,
// and an example.
type badValue struct{ flag, must string }

func (e *badValue) Error() string { return fmt.Sprintf("--%s must be %s", e.flag, e.must) }

// must refuses the value of a flag, which must be what the text says.
func must(flag, format string, args ...any) error {
	return usage(&badValue{flag, fmt.Sprintf(format, args...)})
}

// flagError names the flag of a number that is out of range.
func flagError(err error) error {
	var out *state.RangeError
	if errors.As(err, &out) {
		return must(out.Parameter, "%s", out.Range)
	}
	return err
}

// misread is the error of a text that is no value of a flag: pflag's own would show what Go
// says of it.
func misread(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	var reason string
	switch flag.Value.Type() {
	case "float64":
		reason = "it must be a number"
	case "int", "uint64":
		reason = "it must be a whole number"
		if flag.Value.Type() == "uint64" {
			reason += ", at least 0"
		}
		if errors.Is(err, strconv.ErrRange) {
			reason += ", of at most 18 digits"
		}
	case "bool":
		reason = "it must be true or false, or be left out, which means true"
	case "stringSlice":
		reason = "it must be a list like a,b,c, with a quote only around a whole name"
	default:
		reason = invalid.Unwrap().Error() // of the type itself: a whole sentence
	}
	return fmt.Errorf("--%s is %q: %s%s", flag.Name, secret.Redact(invalid.GetValue()), reason, example(flag, invalid.GetValue()))
}

// explain completes a badValue.
func (e *badValue) explain(flag *pflag.Flag) string {
	if flag == nil {
		return e.Error()
	}
	given := secret.Redact(flag.Value.String())
	return fmt.Sprintf("--%s is %s: it must be %s%s", e.flag, given, e.must, example(flag, given))
}

// example returns a value of a flag that takes a number, as it is given on the command line;
// "" for other flags, whose errors list what they take. Where a per cent was meant, it is that.
func example(flag *pflag.Flag, given string) string {
	if percent, err := strconv.ParseFloat(given, 64); err == nil && percent > 1 && percent < 100 {
		switch flag.Name {
		case "relative", "confidence":
			return fmt.Sprintf("; for %s %%: --%s %s", given, flag.Name, strconv.FormatFloat(percent/100, 'g', -1, 64))
		}
	}
	value := flag.DefValue
	switch flag.Value.Type() {
	case "float64", "int", "uint64", "duration":
		if value == "" || value == "0" {
			value = examples()[flag.Name]
		}
		return fmt.Sprintf("; for example --%s %s", flag.Name, value)
	}
	return ""
}

// examples has values of flags without a default, or with 0 for it.
func examples() map[string]string {
	return map[string]string{
		"epsilon": "1", "delta": "1e-6", "mu": "0.24", "rho": "0.028", "sigma": "100", "absolute": "50",
		"rate": "1000", "wait": "10m", "event-partitions": "3", "replication": "3", "releases": "1000", "readers": "4",
		"window": "1h", "max-keys-per-user": "2", "max-events-per-key": "2", "last-at-least": "24", "top": "10", "within": "0.1", "max-lag": "5m", "spend-share": "0.05",
	}
}

// durationValue is the value of a flag that takes a duration, written as in a configuration.
type durationValue struct{ to *time.Duration }

// durationFlag adds a flag with a duration to flags.
func durationFlag(flags *pflag.FlagSet, to *time.Duration, name string, initial time.Duration, text string) {
	*to = initial
	flags.Var(durationValue{to}, name, text)
}

func (v durationValue) Type() string { return "duration" }

func (v durationValue) String() string {
	if v.to == nil || *v.to == 0 {
		return "0" // no default in the help
	}
	return config.Duration(*v.to)
}

func (v durationValue) Set(text string) error {
	d, err := config.ParseDuration(text)
	if err == nil {
		*v.to = d
	}
	return err
}
