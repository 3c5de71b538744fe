package commands

import (
	"time"
)

// untilValue is the value of --until: "now" is the moment at which the flag is read.
type untilValue struct{ timeValue }

func (v *untilValue) Type() string { return "now|time" }

func (v *untilValue) Set(text string) (err error) {
	if text == "now" {
		v.timeValue = timeValue{Time: time.Now().UTC(), offset: true}
		return nil
	}
	v.timeValue, err = parseMoment(text, "now")
	return err
}

// ends reports whether the run is to end by itself.
func (f *runFlags) ends() bool { return f.untilEnd || !f.until.IsZero() }
