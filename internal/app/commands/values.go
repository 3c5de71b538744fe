package commands

import (
	"errors"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
)

// keyMode is the value of --keys; "" until it is given.
type keyMode string

const (
	keysPublic  keyMode = "public"
	keysPrivate keyMode = "private"
)

func (v *keyMode) String() string { return string(*v) }
func (v *keyMode) Type() string   { return "public|private" }

func (v *keyMode) Set(text string) error {
	switch mode := keyMode(text); mode {
	case keysPublic, keysPrivate:
		*v = mode
		return nil
	}
	return errors.New("it must be public or private")
}

// timeUnit is the value of --time-unit.
type timeUnit string

func (v *timeUnit) String() string { return string(*v) }
func (v *timeUnit) Type() string   { return "s|ms|us|rfc3339" }

func (v *timeUnit) Set(text string) error {
	switch text {
	case "s", "ms", "us", "rfc3339":
		*v = timeUnit(text)
		return nil
	}
	return errors.New("it must be s, ms, us or rfc3339")
}

// timeValue is a point in time; zero until it is given.
type timeValue struct{ time.Time }

func (v *timeValue) String() string {
	if v.IsZero() {
		return ""
	}
	return v.Format(time.RFC3339)
}

func (v *timeValue) Type() string { return "time" }

// runValue is the value of a flag for the name of an earlier run; zero if the flag is not given.
type runValue struct{ demo.RunID }

func (v *runValue) String() string {
	if v.RunID == (demo.RunID{}) {
		return ""
	}
	return v.RunID.String()
}

func (v *runValue) Type() string { return "name" }

func (v *runValue) Set(text string) (err error) {
	v.RunID, err = demo.ParseRunID(text)
	return err //nolint:wrapcheck // a whole sentence
}

// errBefore1970 also keeps the zero time out, which stands for a flag that was not given.
var errBefore1970 = errors.New("it must not be before 1970")

func (v *timeValue) Set(text string) error {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			if t.Before(time.UnixMilli(0)) {
				return errBefore1970
			}
			v.Time = t.UTC()
			return nil
		}
	}
	return errors.New("it must be a time like 2025-03-03T00:00:00Z or a day like 2025-03-03")
}
