package commands

import (
	"time"
)

// untilValue is the value of --until: "now" is the moment at which the flag is read.
type untilValue struct{ at time.Time }

func (v *untilValue) String() string {
	if v.at.IsZero() {
		return ""
	}
	return v.at.Format(time.RFC3339)
}

func (v *untilValue) Type() string { return "now|time" }

func (v *untilValue) Set(text string) error {
	if text == "now" {
		v.at = time.Now().UTC()
		return nil
	}
	at, err := parseMoment(text, "now")
	v.at = at.Time
	return err
}

// ends reports whether the run is to end by itself.
func (f *runFlags) ends() bool { return f.untilEnd || !f.until.at.IsZero() }
