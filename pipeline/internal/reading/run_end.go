package reading

import (
	"context"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Ends returns the last stable offsets of a topic by partition.
func Ends(ctx context.Context, client *kafkalog.Client, topic string) (map[int32]int64, error) {
	ids, err := client.Partitions(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("finding the events topic: %w", err)
	}
	ends := make(map[int32]int64, len(ids))
	for _, id := range ids {
		bounds, err := client.Offsets(ctx, topic, id)
		if err != nil {
			return nil, fmt.Errorf("reading partition %d of the events topic: %w", id, err)
		}
		ends[id] = bounds.LastStable
	}
	return ends, nil
}

// finished reports whether the run can end: all opened turns are settled, and no more will be
// opened, because of a drain or the end of the input. Group 0 decides; the others read its END.
func (s *Source) finished(settled uint64) bool {
	drained, ended := false, false
	s.control.WithView(func(v *controllog.View) {
		drained, ended = v.Drained(s.run), v.Ended != nil && v.Run == s.run
	})
	if s.opts.Group > 0 || ended || s.epoch.Load() < 0 {
		return ended // an END counts only in an epoch of this run
	}
	if settled < s.opened {
		return false
	}
	switch {
	case drained:
		return settled >= s.underWay
	case s.opts.UntilEnd:
		all, owed := s.allAtEnd()
		return all && settled >= owed
	case !s.opts.Bounded && !s.opts.Until.IsZero():
		return settled >= s.owed
	}
	all, _ := s.allAtEnd()
	return s.lastKnown && settled >= s.last && all
}

// lastOwed returns the last turn that the run may close. A run with an end closes no turn after the
// last one that it must settle according to the records read so far. Later turns stay open for
// later records.
func (s *Source) lastOwed() uint64 {
	switch {
	case s.lastKnown:
		return s.last
	case s.opts.UntilEnd && s.opts.Group == 0:
		_, last := s.allAtEnd()
		return last
	case s.opts.UntilEnd || s.opts.Bounded || s.opts.Until.IsZero(): // group 0 decides for the others
		return allTurns
	}
	return s.owed
}

// end writes the END of the run, unless control contains it already.
func (s *Source) end(ctx context.Context) error {
	e := &schemas.End{Epoch: s.epoch.Load()}
	ended := false
	s.control.WithView(func(v *controllog.View) { e.Drained, ended = v.Drained(s.run), v.Ended != nil })
	if ended || s.opts.Group > 0 {
		return nil
	}
	e.Owed, e.Tallies = s.owed, s.allTallies()
	s.eachGroup(func(g *controllog.Group) { e.Tallies.Add(g.Unclosed) })
	if s.opts.UntilEnd {
		all := false
		if all, e.Owed = s.allAtEnd(); !all {
			e.Owed = schemas.OwedUnknown
		}
	}
	if _, err := s.writer.Append(ctx, e); err != nil {
		return err
	}
	return s.control.Update(ctx)
}

// pastEnds reports whether all records that were on the topic at the start have been read.
func (s *Source) pastEnds() bool {
	return !slices.ContainsFunc(s.partitions, func(p *partition) bool { return p.next < s.opts.Ends[p.id] })
}

// atEnd reports whether a bounded run has read all of its input.
func (s *Source) atEnd() bool {
	return !slices.ContainsFunc(s.partitions, func(p *partition) bool { return !p.readToEnd() })
}

// fixLastTurn fixes the last turn of a bounded run: with Until at once, and otherwise once all
// input has been read, as the last turn with an event. If that turn is closed and untallied records
// are left, it is the next turn: records without a turn must be in the tallies of a CLOSE, too.
func (s *Source) fixLastTurn() {
	if !s.opts.Bounded || s.lastKnown {
		return
	}
	if !s.opts.Until.IsZero() {
		s.last, s.lastKnown = max(s.closed, s.classifier.turns.Of(s.opts.Until.UnixMilli()-1)), true
		return
	}
	all, last := s.allAtEnd()
	if !all {
		return
	}
	s.last, s.lastKnown = last, true
	if s.last == s.closed && s.allTallies().Read > 0 {
		s.last++
	}
}
