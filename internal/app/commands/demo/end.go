package demo

import (
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// sumUp prints for the owner of the input, on stderr, what became of the records, and why little or
// nothing was released. What it writes is exact, and must not be published. With --strict it
// returns an error if most records were lost. Of a run that was ended by a signal it says only what
// became of the records.
func (j *job) sumUp(result demo.Result, released int, compared *comparison) error {
	j.progress.Note("%s", strings.TrimRight(outcomes.Table(result.Tallies), "\n"))
	if file, ok := j.source.(*demo.File); ok {
		j.noteFaults(file)
		if n := result.Tallies.BeforeStart; n > 0 && j.flags.from.IsZero() {
			j.progress.Note("before the start: %s before 1970, which do not count", terminal.Count(int(n), "record"))
		}
	}
	if result.Drained {
		return nil
	}
	causes := demo.Causes(j.settings, j.source, result, released)
	switch {
	case released == 0 && causes == nil && compared == nil: // else the comparison says why
		j.progress.Note("nothing was released, and no single cause stands out")
	case released == 0:
		j.progress.Note("nothing was released")
	}
	for _, c := range causes {
		j.progress.Note("why: %s", c)
	}
	if compared != nil {
		j.sayCompared(compared)
	}
	loss := outcomes.Lost(pipeline.Tallies{}, result.Tallies)
	return command.RefuseLosses(loss, j.flags.strict, func() {
		j.progress.Note("warning: %s of %s (%s) were lost before counting", terminal.Number(loss.Lost, 0),
			terminal.Count(int(loss.Records), "record"), outcomes.Share(loss.Lost, loss.Records))
	})
}
