package input

import (
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// NoteTimes says which times of a file are not what events usually have: before 1990, ahead of now
// or over more than 20 years, unless from and to leave them out; both are nil for a command without
// --from and --to.
func NoteTimes(progress *terminal.Progress, faults *eventfile.Faults, from, to *command.TimeValue) {
	t := faults.Times()
	open := from == nil || from.IsZero() && to.IsZero()
	var what, flags []string
	if t.Early > 0 && (open || from.IsZero()) {
		what = append(what, terminal.Count(t.Early, "event")+" before 1990")
		flags = append(flags, "--from "+eventfile.Date(t.UsualFirst))
	}
	if t.Ahead > 0 && (open || to.IsZero()) {
		what = append(what, terminal.Count(t.Ahead, "event")+" ahead of now")
		flags = append(flags, "--to "+eventfile.Date(t.UsualLast+24*time.Hour.Milliseconds()))
	}
	if years := (t.Last - t.First) / (365 * 24 * time.Hour.Milliseconds()); years >= 20 && open {
		what = append(what, fmt.Sprintf("%d years from %s to %s", years, eventfile.Date(t.First),
			eventfile.Date(t.Last)))
	}
	if what == nil {
		return
	}
	text := "check the times: " + strings.Join(what, ", ")
	if _, where := faults.OddTimes(); where != "" {
		text += " (" + where + ")"
	}
	text += ". If they are wrong, "
	if unit := t.Reading(); unit != nil {
		text += fmt.Sprintf("most of them need %v", unit)
	} else {
		text += "correct " + TimeFlagNames
	}
	if from != nil && flags != nil && t.Usual() > 0 {
		text += "; to leave them out, give " + strings.Join(flags, " ")
	}
	progress.Note("%s", text)
}

// TimeFlagNames are the flags that say how times are read.
const TimeFlagNames = "--time-field, --time-unit or --time-layout"
