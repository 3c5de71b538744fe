package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// refuseLosses is loud about records that were lost before counting: where more than half of them
// were, it calls warn, or returns an error of exit code 4 with strict.
func refuseLosses(l outcomes.Loss, strict bool, warn func()) error {
	switch {
	case !l.Most():
	case strict:
		return coded(exitLosses, fmt.Errorf("more than half of the records were lost before counting, which --strict refuses: %s", l.Why()))
	default:
		warn()
	}
	return nil
}

// losses says how many records a run with an end has lost: the difference between what control says
// at its start and at its end, so that what earlier runs lost, or counted, decides nothing.
type losses struct {
	d      *pipeline.Deployment
	wanted bool // by a run with an end
	before pipeline.Tallies
	failed error // of reading them
}

// lossesUnknown is why nothing is said of losses.
func lossesUnknown(err error) error {
	return fmt.Errorf("could not check whether most records were lost before counting: %w", err)
}

// begin reads the tallies before the run, unless that is to end: no broker may answer.
func (l *losses) begin(ctx context.Context, drain <-chan struct{}) {
	if l.wanted {
		ctx, end := endedBy(ctx, drain, errors.New("the run was to end"))
		defer end()
		l.before, l.failed = pipeline.TrustedReport(ctx, l.d)
	}
}

// end says coarsely how many records were lost, and why; stderr of a run has no exact number.
func (l *losses) end(f *runFlags, now pipeline.Tallies, progress *terminal.Progress) error {
	switch {
	case !l.wanted:
		return nil
	case l.failed != nil && f.strict:
		return lossesUnknown(l.failed)
	case l.failed != nil:
		progress.Note("%v", lossesUnknown(l.failed))
		return nil
	}
	lost := outcomes.Lost(l.before, now)
	if lost.Some() && !lost.Most() {
		progress.Note("some of the records of this run (at least one in a hundred) were lost before counting: %s", lost.Why())
	}
	return refuseLosses(lost, f.strict, func() {
		progress.Note("WARNING: more than half of the records of this run were lost before counting: %s; --trusted-report FILE has the tallies", lost.Why())
	})
}
