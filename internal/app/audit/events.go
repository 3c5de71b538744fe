package audit

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// readEvents reads all partitions up to a turn's cuts.
func (a *auditor) readEvents(ctx context.Context, turn uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, cut := range a.control.Closes[turn].Cuts {
		for _, e := range a.events {
			if e.id == cut.Partition {
				if cut.Cut > e.end {
					a.report.differ(Difference{Turn: turn, What: "the events end before the turn does"})
				}
				group.Go(func() error { return a.readTo(ctx, e, min(cut.Cut, e.end)) })
			}
		}
	}
	return group.Wait()
}

func (a *auditor) readTo(ctx context.Context, e *events, to int64) error {
	if to <= e.next {
		return nil
	}
	reader := a.replay.Reader(e.id)
	err := e.reader.Read(ctx, e.next, to, func(r kafkalog.Record) error {
		_, err := reader.Read(r.Offset, r.Timestamp, r.Value)
		return err
	})
	e.next = to
	return err
}

// compareClose compares the number of records in a turn with its CLOSE if the events still exist.
func (a *auditor) compareClose(turn uint64) {
	want := a.control.Closes[turn].Contributions
	switch {
	case a.replay.Arrived(turn) == want:
	case a.gone(turn):
		a.wholeFrom = turn + 1
		a.report.skip(turn, "which records belong to the turns: events were deleted, or their format or users are "+
			"unknown")
	default:
		a.report.differ(Difference{Turn: turn, What: "the number of accepted records in CLOSE differs"})
	}
}

// gone reports whether records of a turn may have been deleted, or cannot be decoded.
func (a *auditor) gone(turn uint64) bool {
	if len(a.control.Forgets) > 0 && turn <= slices.Max(a.control.Forgets) {
		return true // the user was forgotten
	}
	before := a.control.Closes[turn-1]
	for _, e := range a.events {
		needed := int64(0)
		for _, cut := range before.Cuts {
			if cut.Partition == e.id {
				needed = cut.Restart
			}
		}
		if e.start > needed {
			return true
		}
	}
	return false
}
