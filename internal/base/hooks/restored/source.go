package restored

import (
	"context"
	"slices"

	"github.com/tollgate-dp/tollgate/transforms"
)

// Source returns READ as if on an engine that restores a checkpoint whenever restore returns true
// (see crashpoint.Hooks). READ then gets the restriction of an earlier step, and the elements that
// were buffered at that step are delivered again. It is not safe for concurrent use.
func Source(read transforms.Source, restore func(step int) bool) transforms.Source {
	if restore == nil {
		return read
	}
	return &source{Source: read, restore: restore}
}

type source struct {
	transforms.Source
	restore func(step int) bool

	steps    int
	opened   bool // the last step opened a turn
	earlier  transforms.Restriction
	elements []transforms.Element // of the last step that produced elements
	buffered []transforms.Element // of an earlier step, delivered again with the next elements
}

// Step implements transforms.Source.
func (r *source) Step(ctx context.Context, restriction transforms.Restriction) (transforms.Step, error) {
	restoring := false
	if r.opened || r.steps == 0 {
		r.steps++
		restoring = r.steps > 1 && r.restore(r.steps)
	}
	given := restriction
	if restoring {
		given = r.earlier
		given.Tick = restriction.Tick // Beam's own watermark cannot be restored here
	}
	step, err := r.Source.Step(ctx, given)
	if err != nil {
		return step, err
	}
	r.earlier, r.opened = restriction, step.Opened
	if restoring {
		r.buffered = r.elements
	}
	if elements := step.Elements; len(elements) > 0 {
		// New elements come first, to expose a stage that takes the last OPEN for the newest.
		step.Elements = slices.Concat(elements, r.buffered)
		r.elements, r.buffered = elements, nil
	}
	return step, nil
}
