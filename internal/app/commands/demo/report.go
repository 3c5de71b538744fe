package demo

import (
	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
)

// openPage makes the page of --report, if one was asked for.
func (j *job) openPage() error {
	if j.flags.report == "" {
		return nil
	}
	page, err := command.OpenPage(j.flags.report, j.deployment)
	j.page = page
	return err
}

// describePage adds to the page what is special about a demo. The source must be open.
func (j *job) describePage() {
	if j.page == nil {
		return
	}
	source, notes := "made-up events", []string{"These events are made up and their noise can be repeated: no " +
		"user is " +
		"protected."}
	j.page.Options.Of = "in this file"
	if j.flags.input == "" {
		j.page.Options.Of = "in this demo"
		j.page.Options.Mark = "Made-up data: the events were invented for this demo."
	} else {
		source, notes = "one run over a file", []string{"Another run over the same people is another promise, and " +
			"the " +
			"privacy losses add up."}
		if j.flags.from.IsZero() || j.flags.to.IsZero() {
			notes = append(notes, "The range of windows, or one end of it, comes from the data: one record far away "+
				"in time shows in it.")
		}
	}
	j.page.Options.Zone = string(j.flags.times.Zone)
	j.page.Describe("Tollgate demo", source, notes...)
}

// addError adds to the page how far its values are from the real counts, where the events are made
// up: of a file that is as secret as its records, and the page is public.
func (j *job) addError(c *comparison) {
	if j.page == nil || c == nil || j.flags.input != "" {
		return
	}
	text := c.text(j.flags, "")
	j.page.Options.Error = words.Capital(text) + "."
}

// collect keeps the releases of a turn for the page.
func (j *job) collect(t demo.Turn) {
	if j.page == nil {
		return
	}
	j.page.Add(0, t.End, t.Releases)
}

// savePage writes the page, also of a run that was ended by a signal.
func (j *job) savePage() error {
	if j.page == nil {
		return nil
	}
	if err := j.page.Save(); err != nil {
		return err
	}
	j.progress.Note("report written to %s", j.flags.report)
	return nil
}
