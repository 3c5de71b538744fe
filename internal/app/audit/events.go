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

// readTo passes the records of a partition before the offset end to the replay.
func (a *auditor) readTo(ctx context.Context, e *events, end int64) error {
	if end <= e.next {
		return nil
	}
	reader := a.replay.Reader(e.id)
	err := e.reader.Read(ctx, e.next, end, func(r kafkalog.Record) error {
		_, err := reader.Read(r.Offset, r.Timestamp, r.Value)
		return err
	})
	e.next = end
	return err
}

// compareClose compares the number of accepted records of a turn with the number in its CLOSE. If
// the numbers differ because events are gone, it marks the turn as unchecked.
func (a *auditor) compareClose(turn uint64) {
	want := a.control.Closes[turn].Contributions
	switch {
	case a.replay.Arrived(turn) == want:
	case a.gone(turn):
		a.completeFrom = turn + 1
		a.report.skip(turn, "which records belong to the turns: events were deleted, or their format or users are "+
			"unknown")
	default:
		a.report.differ(Difference{Turn: turn, What: "the number of accepted records in CLOSE differs"})
	}
}

// gone reports whether records of a turn may have been deleted or cannot be decoded.
func (a *auditor) gone(turn uint64) bool {
	if len(a.control.Forgets) > 0 && turn <= slices.Max(a.control.Forgets) {
		return true // records of the forgotten user may have been deleted
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
