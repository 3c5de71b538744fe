package demo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
)

// refuseUnreadable refuses a file without any event, and one most of whose times may be misread. It
// decides by the records, before anything is promised, as for a file without records.
func (j *job) refuseUnreadable(file *demo.File) error {
	f := j.flags
	faults, records := file.Faults(), uint64(file.Records())
	if err := errors.Join(f.refuseCharset(faults, records), f.refuseValues(faults, records)); err != nil {
		return err
	}
	if err := f.refuseTimes(faults, records); err != nil {
		return err
	}
	if !file.NoEvents() {
		if err := f.refuseUndecodable(faults, records); err != nil {
			return err
		}
		if file.BeforeTime() && f.from.IsZero() {
			return fmt.Errorf("nothing to release: every event of %s is before 1970, and such events do not count: "+
				"correct %s", eventfile.Name(f.input), input.TimeFlagNames)
		}
		input.NoteTimes(j.progress, file.Faults(), &f.from, &f.to)
		return nil
	}
	j.noteFaults(file)
	text := fmt.Sprintf("nothing to release: no record of %s has a user, a key and a time that can be used",
		eventfile.Name(f.input))
	if causes := demo.NoEvents(j.settings, file); causes != nil {
		text += ": " + strings.Join(causes, "; ")
	}
	return errors.New(text)
}

// noteFaults reports the records that are broken or incomplete, and whether they count.
func (j *job) noteFaults(file *demo.File) {
	input.NoteFaults(j.progress, file.Faults().Texts())
	input.NoteUnnamed(j.progress, j.flags.noUser, file.Unnamed(), file.Faults().Blank())
	input.NoteWithoutValue(j.progress, j.flags.NoValue, file.Faults().WithoutValue())
}

// refuseValues refuses a file if too many of its records have a value that cannot be read: the
// other records are no sample of all.
func (f *demoFlags) refuseValues(faults *eventfile.Faults, records uint64) error {
	n, where, tooMany := faults.BadValues()
	f.badValues = n
	if !tooMany || f.SkipBadValues {
		return nil
	}
	cure := "Correct --value-field or the file"
	if f.Decimals == 0 {
		cure = "If they have decimals, give --decimals 2 for two of them, and --min and --max in hundredths"
	}
	return fmt.Errorf("reading input file %s: %s have a value that is not %s: %s. %s; to leave such records out, add "+
		"--skip-bad-values",
		eventfile.Name(f.input), outcomes.Part(n, records, "record"), f.number(), where, cure)
}

// number says what a value must be.
func (f *demoFlags) number() string {
	if f.Decimals > 0 {
		return "a number"
	}
	return "a whole number"
}

// refuseCharset refuses a file if more than one in a hundred of its records are not UTF-8: they may
// be all records of a key.
func (f *inputFlags) refuseCharset(faults *eventfile.Faults, records uint64) error {
	bad, where := faults.NotUTF8()
	if 100*bad <= records {
		return nil
	}
	return fmt.Errorf("reading input file %s: %s are not text in UTF-8: %s. Give its encoding, for example --encoding "+
		"cp1252",
		eventfile.Name(f.input), outcomes.Part(bad, records, "record"), where)
}

// refuseUndecodable refuses a file if more than 2 % of its records are no records of its format:
// the others are no sample of all.
func (f *inputFlags) refuseUndecodable(faults *eventfile.Faults, records uint64) error {
	bad, where := faults.Undecodable()
	if f.skipUndecodable || 50*bad <= records || bad == records {
		return nil
	}
	return fmt.Errorf("reading input file %s: %s cannot be read as %s: %s. Correct the file, or leave such records "+
		"out with --skip-undecodable",
		eventfile.Name(f.input), outcomes.Part(bad, records, "record"), f.inputFormat, where)
}

// refuseTimes refuses a file if more than a tenth of its records have a time that cannot be read:
// then the others may be misread, for example with day and month exchanged. If most of these times
// are read in another unit, one in a hundred is enough, and times before 1990 and ahead of now
// count as well.
func (f *inputFlags) refuseTimes(faults *eventfile.Faults, records uint64) error {
	n, where := faults.BadTimes()
	times, most := faults.Times(), uint64(10)
	unit := times.Reading()
	what, cure, goOn := "that cannot be read", "correct "+input.TimeFlagNames+", or write these times like "+
		"2025-03-03T00:00:01Z", "leave them out"
	if unit != nil {
		odd, oddWhere := faults.OddTimes()
		switch {
		case odd == 0:
		case n == 0:
			what, where, goOn = "before 1990 or ahead of now", oddWhere, "continue anyway"
		default:
			what, where, goOn = what+", or is before 1990 or ahead of now", where+"; "+oddWhere, "continue anyway"
		}
		n, most, cure = n+odd, 100, fmt.Sprintf("give %v", unit)
	} else if times.Events == 0 {
		return nil // that there is none has causes of its own
	}
	if f.skipBadTimes && times.Events > 0 || most*n <= records {
		return nil
	}
	text := fmt.Sprintf("reading input file %s: %s have a time %s: %s. ", eventfile.Name(f.input),
		outcomes.Part(n, records, "record"), what, where)
	if unit != nil && !unit.Text() && 100*times.Usual() > records {
		return fmt.Errorf("%sThe file mixes units: these times need %v, and the others do not. Write all times in one "+
			"unit; to %s, add --skip-bad-times", text, unit, goOn)
	}
	return fmt.Errorf("%sTo read them, %s; to %s, add --skip-bad-times", text, cure, goOn)
}
