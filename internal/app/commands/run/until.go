package run

import (
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// untilValue is the value of --until: "now" is the moment at which the flag is read.
type untilValue struct{ command.TimeValue }

func (v *untilValue) Type() string { return "now|time" }

func (v *untilValue) Set(text string) (err error) {
	if text == "now" {
		v.TimeValue = command.TimeValue{Time: time.Now().UTC(), Offset: true}
		return nil
	}
	v.TimeValue, err = command.ParseMoment(text, "now")
	return err
}

// ends reports whether the run is to end by itself.
func (f *runFlags) ends() bool { return f.untilEnd || !f.until.IsZero() }
