package reading

import (
	"cmp"
	"context"
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

// closeTurns writes the CLOSE of each turn that every partition has passed, but of no more than
// closeAhead turns after the settled one. It reports whether it wrote any.
func (s *Source) closeTurns(ctx context.Context, settled uint64) (bool, error) {
	if s.closeWritten > s.closed || !s.caughtUp() {
		return false, nil // our last CLOSE is not read back, or a closed turn is not read to its cut
	}
	s.fixLastTurn()
	last := s.lastClosable(settled)
	if last == s.closed {
		return false, nil
	}
	var bodies []schemas.ControlBody
	for turn := s.closed + 1; turn <= last; turn++ {
		c := s.closeOf(turn)
		if len(bodies) == 0 {
			c.Tallies = s.allTallies()
		}
		bodies = append(bodies, c)
	}
	if _, err := s.append(ctx, bodies...); err != nil {
		return false, err
	}
	s.closeWritten = last
	s.markTallied()
	return true, nil
}

// lastClosable returns the last turn that is closed or can be closed now.
func (s *Source) lastClosable(settled uint64) uint64 {
	turn := s.closed
	for turn < settled+closeAhead && s.hasPassed(turn+1) {
		turn++
	}
	return turn
}

// closeOf returns the CLOSE of a turn.
func (s *Source) closeOf(turn uint64) *schemas.Close {
	c := &schemas.Close{Epoch: s.epoch.Load(), Turn: turn, Contributions: s.recordsOf(turn)}
	for _, p := range s.partitions {
		c.Cuts = append(c.Cuts, p.cut(s.restartMark(p, turn)))
	}
	s.eachGroup(func(g *controllog.Group) {
		for i := range g.Cuts {
			c.Cuts = append(c.Cuts, g.Cuts[i].For(turn))
		}
	})
	slices.SortFunc(c.Cuts, func(a, b schemas.Cut) int { return cmp.Compare(a.Partition, b.Partition) })
	return c
}

// caughtUp reports whether all records before the cuts of the last CLOSE have been read. Until
// then, a new cut would be lower than an old one.
func (s *Source) caughtUp() bool {
	return !slices.ContainsFunc(s.partitions, func(p *partition) bool { return p.next < p.talliedTo })
}

// hasPassed reports whether a turn can be closed: the run may close it, and the watermark of every
// partition has reached its end. A bounded run closes its last turn only after reading all input.
func (s *Source) hasPassed(turn uint64) bool {
	if s.noRecords || turn > s.lastOwed() {
		return false
	}
	if s.lastKnown && turn == s.last {
		if all, _ := s.allAtEnd(); !all {
			return false
		}
	}
	othersPassed := true
	s.eachGroup(func(g *controllog.Group) { othersPassed = othersPassed && g.Turn >= turn })
	if !othersPassed {
		return false
	}
	for _, p := range s.partitions {
		if p.watermark(s.dep.Metrics[0].Spec) < s.classifier.turns.End(turn) {
			return false
		}
	}
	return true
}

// restartMark returns the lowest mark of a partition's events in turns after the given one, or nil.
func (s *Source) restartMark(p *partition, turn uint64) *packing.Mark {
	var lowest *packing.Mark
	if m, ok := s.unneeded.first[p.id]; ok {
		lowest = &m
	}
	for t, b := range s.buffers {
		if t <= turn {
			continue
		}
		if m, ok := b.First[p.id]; ok && (lowest == nil || m.Offset < lowest.Offset) {
			lowest = &m
		}
	}
	return lowest
}

// lowestNeeded returns the lowest offset of a partition that a restart may have to read again.
func (s *Source) lowestNeeded(p *partition) int64 {
	if m := s.restartMark(p, s.opened); m != nil {
		return m.Offset
	}
	return p.next
}

func below(limit int64) func(int64) bool { return func(o int64) bool { return o < limit } }

func newTallies() schemas.ReadTallies {
	return schemas.ReadTallies{DeadLettered: map[string]uint64{}}
}
