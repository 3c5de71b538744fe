package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// losses computes how many records a run with an end lost: the difference between the tallies on
// control at its start and at its end, so that the records of earlier runs do not matter. With
// --strict, a run without an end stops once too many values cannot be read.
type losses struct {
	d      *pipeline.Deployment
	wanted bool // the run has an end
	before pipeline.Tallies
	failed error // from reading before

	strict    bool
	badValues chan struct{} // closed once too many values cannot be read, with strict
	stop      sync.Once
}

// errBadValues ends a strict run: the values that can be read would not be representative.
var errBadValues = command.Coded(command.ExitLosses, errors.New("more than 2% of the values cannot be read, which "+
	"--strict refuses: they are dead letters of class bad_value; "+
	"correct the producer, or events.fields.value, events.decimals or events.decimal_comma"))

// observe receives the state of the run about once a second.
func (l *losses) observe(s pipeline.RunState) {
	if l.strict && s.BadValues {
		l.stop.Do(func() { close(l.badValues) })
	}
}

// lossesUnknown returns the error of a run whose losses cannot be computed.
func lossesUnknown(err error) error {
	return fmt.Errorf("could not check whether most records were lost before counting: %w", err)
}

// begin reads the tallies before the run. It stops when the run is drained, as no broker may
// answer.
func (l *losses) begin(ctx context.Context, drain <-chan struct{}) {
	if l.wanted {
		ctx, end := endedBy(ctx, drain, errors.New("the run was told to end"))
		defer end()
		l.before, l.failed = pipeline.TrustedReport(ctx, l.d)
	}
}

// end reports roughly how many records were lost, and why. A run's stderr has no exact number.
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
	if lost.Notable() && !lost.Most() {
		progress.Note("warning: some of the records of this run (at least one in a hundred) were lost before "+
			"counting: %s", lost.Why())
	}
	if f.strict && lost.BadValues() {
		return errBadValues
	}
	return command.RefuseLosses(lost, f.strict, progress)
}
