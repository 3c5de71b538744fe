package restored

import (
	"context"
	"slices"

	"github.com/tollgate-dp/tollgate/transforms"
)

// Source returns READ on an engine that restores a checkpoint if restore (see crashpoint.Hooks)
// returns true: READ gets the restriction of an earlier step, and the elements buffered then are
// delivered again. Not for concurrent use.
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
	elements []transforms.Element // from the last step that produced any
	buffered []transforms.Element // from an earlier step, delivered again with the next ones
}

// Step implements transforms.Source.
func (r *source) Step(ctx context.Context, restriction transforms.Restriction) (transforms.Step, error) {
	again := false
	if r.opened || r.steps == 0 {
		r.steps++
		again = r.steps > 1 && r.restore(r.steps)
	}
	handed := restriction
	if again {
		handed = r.earlier
		handed.Tick = restriction.Tick // Beam's own watermark cannot be restored here
	}
	step, err := r.Source.Step(ctx, handed)
	if err != nil {
		return step, err
	}
	r.earlier, r.opened = restriction, step.Opened
	if again {
		r.buffered = r.elements
	}
	if elements := step.Elements; len(elements) > 0 {
		// New elements are first, to expose a stage that mistakes the last OPEN for the newest.
		step.Elements = slices.Concat(elements, r.buffered)
		r.elements, r.buffered = elements, nil
	}
	return step, nil
}
