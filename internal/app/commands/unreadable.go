package commands

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// refuseUnreadable refuses a file without any event, and one most of whose times may be misread. It
// decides by the records, before anything is promised, as for a file without records.
func (j *job) refuseUnreadable(file *demo.File) error {
	f := j.flags
	if err := f.refuseDecimals(file.Faults(), uint64(file.Records())); err != nil {
		return err
	}
	if !file.NoEvents() {
		err := f.refuseTimes(file.Faults(), uint64(file.Records()))
		if layouts := file.Faults().Layouts(); err != nil && len(layouts) == 1 && f.flags != nil {
			err = fmt.Errorf("%w\n%s", err, folded(rerun(f.flags, map[string]string{"time-layout": layouts[0]}, "repeat"), "  "))
		}
		return err
	}
	noteFaults(j.progress, file.Faults().Texts())
	noteUnnamed(j.progress, f.noUser, file.Unnamed())
	causes, err := demo.NoEvents(j.settings, file)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("nothing to release: no record of %s has a user, a key and a time that can be used", eventfile.Name(f.input))
	if causes != nil {
		text += ": " + causeTexts(causes)
	}
	for _, c := range causes {
		if c.Set != nil && f.flags != nil {
			text += "\nto change that:\n" + folded(rerun(f.flags, c.Set, "repeat"), "  ")
		}
	}
	return errors.New(text)
}

func causeTexts(causes []demo.Cause) string {
	texts := make([]string, len(causes))
	for i, c := range causes {
		texts[i] = c.Text
	}
	return strings.Join(texts, "; ")
}

// refuseDecimals refuses a file if more than a tenth of its records have a value that is not a
// whole number, most of these have decimals, and none are asked for: the other records are no
// sample of all. The command that it gives has the range of values in their new unit.
func (f *demoFlags) refuseDecimals(faults *eventfile.Faults, records uint64) error {
	n, where, decimals := faults.Decimals()
	if decimals == 0 || 10*n <= records {
		return nil
	}
	unit := terminal.Number(1/math.Pow10(decimals), decimals)
	text := fmt.Sprintf("reading input file %s: %s of %s (%s) have a value that is not a whole number, and most of these have decimals: %s. To keep %s, give --decimals %d, and all bounds in units of %s",
		eventfile.Name(f.input), terminal.Number(float64(n), 0), terminal.Count(records, "record"), outcomes.Share(float64(n), float64(records)), where, terminal.Count(decimals, "decimal"), decimals, unit)
	if f.flags == nil {
		return errors.New(text)
	}
	set := map[string]string{"decimals": strconv.Itoa(decimals)}
	if f.given("absolute") {
		set["absolute"] = "" // of another unit
	}
	for name, v := range map[string]int64{"min": f.min, "max": f.max} {
		if f.given(name) {
			set[name] = strconv.FormatFloat(float64(v)*math.Pow10(decimals), 'f', 0, 64)
		}
	}
	if f.given("edges") {
		scaled := numbersValue{to: new([]float64)}
		for _, edge := range f.statistics.Edges {
			*scaled.to = append(*scaled.to, edge*math.Pow10(decimals))
		}
		set["edges"], set["min"], set["max"] = scaled.String(), "", ""
	}
	return fmt.Errorf("%s:\n%s", text, folded(rerun(f.flags, set, "repeat"), "  "))
}

// refuseTimes refuses a file if more than a tenth of its records have a time that cannot be read:
// then the others may be misread, for example with day and month exchanged.
func (f *inputFlags) refuseTimes(faults *eventfile.Faults, records uint64) error {
	bad, where := faults.BadTimes()
	if f.skipBadTimes || 10*bad <= records {
		return nil
	}
	cure := "correct --time-field, --time-unit or --time-layout"
	if layouts := faults.Layouts(); layouts != nil {
		cure = "give --time-layout '" + strings.Join(layouts, "' or '") + "'"
	}
	return fmt.Errorf("reading input file %s: %s of %s (%s) have a time that cannot be read: %s. To read them, %s; to leave them out, add --skip-bad-times",
		eventfile.Name(f.input), terminal.Number(float64(bad), 0), terminal.Count(records, "record"), outcomes.Share(float64(bad), float64(records)), where, cure)
}
