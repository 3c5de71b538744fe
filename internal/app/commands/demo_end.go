package commands

import (
	"context"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/funnel"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// sumUp tells the holder of the input, on stderr, what became of the records, and why little or
// nothing was released. What it writes is exact, and must not be published. With --strict it
// returns an error if most records were lost. Of a run that was ended by a signal it says only what
// became of the records.
func (j *job) sumUp(ctx context.Context, result demo.Result, released int) error {
	j.progress.Note("%s", strings.TrimRight(funnel.Table(result.Tallies), "\n"))
	if result.Drained {
		return nil
	}
	if file, ok := j.source.(*demo.File); ok && file.NoRecords() != nil {
		j.progress.Note("nothing to release: %v", file.NoRecords())
		return nil
	}
	causes, err := demo.Causes(j.settings, j.source, result, released)
	if err != nil {
		return err
	}
	from, _ := j.source.Range()
	switch {
	case from.IsZero():
		j.progress.Note("nothing to release: no record has a user, a key and a time that can be used")
	case released == 0 && causes == nil:
		j.progress.Note("nothing was released, and no single cause stands out")
	case released == 0:
		j.progress.Note("nothing was released")
	}
	for _, text := range causes {
		j.progress.Note("why: %s", text)
	}
	if err := j.tellImprovement(ctx, from.IsZero()); err != nil {
		return err
	}
	loss := funnel.Lost(pipeline.Tallies{}, result.Tallies)
	return refuseLosses(loss, j.flags.strict, func() {
		j.progress.Note("WARNING: %s of %s (%s) were lost before counting", terminal.Number(loss.Lost, 0), plural(int(loss.Of), "record"), funnel.Share(loss.Lost, loss.Of))
	})
}
