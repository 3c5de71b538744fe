package reading

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Several readers can share a topic; each reads one group of partitions (docs/design-notes.md,
// "Readers"). The reader of group 0 works like a single reader, but knows the progress of the other
// groups only from the PASSED records of their readers.

// passedState is what a reader's newest PASSED says. written reports whether there is one.
type passedState struct {
	written bool
	turn    uint64
	atEnd   bool
	last    uint64
}

// allTurns is the passed turn of a reader that has read all its input.
const allTurns = math.MaxUint64

// ownsPartition reports whether a partition belongs to this group.
func (s *Source) ownsPartition(id int32) bool { return int(id)%s.opts.Groups == s.opts.Group }

// ownPartitions returns the partitions that belong to this group, ascending.
func (s *Source) ownPartitions(ids []int32) []int32 {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return !s.ownsPartition(id) })
	slices.Sort(ids)
	return ids
}

// beginReading starts reading in this process, for the first time or again. In group 0, the next
// step then starts an epoch. In another group, the reader announces itself and joins later epochs.
func (s *Source) beginReading(ctx context.Context) error {
	if err := s.control.Update(ctx); err != nil {
		return err
	}
	if err := s.checkMayRun(func(*controllog.View) {}); err != nil {
		return err
	}
	s.epoch.Store(-1)
	if s.opts.Group == 0 {
		s.session = session{}
		return nil
	}
	offsets, err := s.append(ctx,
		&schemas.Reader{Run: s.run, Group: uint32(s.opts.Group), Groups: uint32(s.opts.Groups)})
	if err != nil {
		return err
	}
	s.reader = offsets[0]
	s.session = session{}
	return s.control.Update(ctx)
}

// join joins the epoch of group 0 once that epoch includes this reader, and group 0 has announced
// whether it redoes a turn from the ledger. Until then, join waits for records on control.
func (s *Source) join(ctx context.Context) error {
	ready, epoch, redoTurn := false, int64(-1), uint64(0)
	err := s.checkMayRun(func(v *controllog.View) {
		first := v.Groups[0]
		ready = v.Run == s.run && first != nil && v.IsMember(uint32(s.opts.Group), s.reader)
		if ready {
			epoch, redoTurn = v.Epoch, first.Redo
		}
	})
	if err != nil {
		return err
	}
	if ready {
		return s.resume(ctx, epoch, func(settled uint64) (interruption, error) {
			return interruption{redo: redoTurn == settled+1}, nil
		})
	}
	s.epoch.Store(-1)
	s.session = session{}
	return s.control.Await(ctx, openStep/4)
}

// readersAssembled reports whether the readers of all other groups have announced themselves since
// the run's last EPOCH or, before there is one, its RUN, so that one epoch serves them all. After a
// limited wait it returns true anyway.
func (s *Source) readersAssembled() bool {
	limit := readersWait
	if s.epoch.Load() >= 0 {
		limit = joinWait
	}
	if s.opts.Groups == 1 || time.Since(s.assembling) > limit {
		return true
	}
	joined := 0
	s.control.WithView(func(v *controllog.View) {
		since := s.run
		if v.Run == s.run {
			since = v.Epoch
		}
		_, joined = v.Joining(s.run, since)
	})
	return joined == s.opts.Groups-1
}

// stepLimits returns the time limits of a step: with an open turn, and without one.
func (s *Source) stepLimits() (open, idle time.Duration) {
	if s.opts.Crowded {
		return openStep / 4, PollWait / 5
	}
	return openStep, idleStep
}

// announceRedo writes to control whether group 0 redoes a turn from the ledger. The readers of the
// other groups wait for this announcement.
func (s *Source) announceRedo(ctx context.Context) error {
	if s.opts.Group > 0 || s.opts.Groups == 1 {
		return nil
	}
	if _, err := s.append(ctx, &schemas.Passed{Epoch: s.epoch.Load(), Redo: s.fromLedger}); err != nil {
		return err
	}
	return s.control.Update(ctx)
}

// writePassed writes a PASSED if it has something new to report: the first PASSED of an epoch, once
// all records before the last CLOSE's cuts have been read; more passed turns, once all turns of
// earlier PASSEDs are closed, so that every turn has one cut in the group; or the end of the input.
// The tallies cover all records read after the last cuts, because END needs them, too.
func (s *Source) writePassed(ctx context.Context, settled uint64) (bool, error) {
	if !s.caughtUp() {
		return false, nil
	}
	if !s.opts.Until.IsZero() {
		s.fixLastTurn() // so that the tallies of the last turn include all records
	}
	current := passedState{written: true, turn: s.lastPassed.turn}
	current.atEnd, current.last = s.ownEnd()
	morePassed := !s.lastPassed.written || s.lastPassed.turn <= s.closed
	if morePassed {
		current.turn = s.passedUpTo()
	}
	if current == s.lastPassed {
		return false, nil
	}
	p := &schemas.Passed{Epoch: s.epoch.Load(), Group: uint32(s.opts.Group), Reader: s.reader, Turn: current.turn,
		Tallies: s.tallies, AtEnd: current.atEnd, Last: current.last}
	if morePassed {
		s.describe(p, settled)
	}
	if _, err := s.append(ctx, p); err != nil {
		return false, err
	}
	s.lastPassed = current
	if len(p.Cuts) > 0 {
		s.markTallied()
	}
	return true, nil
}

// passedUpTo returns the last turn that the group has passed; at most s.closed + lookahead.
func (s *Source) passedUpTo() uint64 {
	turn := s.closed
	for turn < s.closed+lookahead && s.hasPassed(turn+1) {
		turn++
	}
	if s.opts.Bounded && s.atEnd() && s.lastBuffered() <= turn {
		return allTurns
	}
	return turn
}

// lastBuffered returns the last unopened turn that contains a record that was read, even if only
// the record's position is kept; 0: none.
func (s *Source) lastBuffered() (last uint64) {
	last = s.unneeded.last
	for turn := range s.buffers {
		last = max(last, turn)
	}
	return last
}

// describe adds to p how many records the group has in each turn up to p.Turn. Unless all of these
// turns are closed, it also adds the group's cuts.
func (s *Source) describe(p *schemas.Passed, settled uint64) {
	done := max(settled, s.opened, s.fromLedger)
	for _, turn := range slices.Sorted(maps.Keys(s.buffers)) {
		if turn > done && turn <= p.Turn {
			p.Each = append(p.Each, schemas.TurnRecords{Turn: turn, Records: s.buffers[turn].Records})
		}
	}
	if p.Turn <= s.closed {
		return
	}
	for _, part := range s.partitions {
		p.Cuts = append(p.Cuts, s.groupCut(part, p.Turn))
	}
}

// groupCut returns the cut of a partition for the turns up to passed. It contains only marks of
// these turns, so it stays short even if the partition has been read far ahead.
func (s *Source) groupCut(p *partition, passed uint64) schemas.GroupCut {
	g := schemas.GroupCut{Cut: p.cut(s.restartMark(p, s.opened))} // has the lowest restart offset
	g.Restart, g.AppendTime = g.Cut.Cut, p.appendTime
	if m := s.restartMark(p, passed); m != nil {
		g.Restart, g.AppendTime = m.Offset, m.AppendTime
	}
	for _, turn := range slices.Sorted(maps.Keys(s.buffers)) {
		if m, ok := s.buffers[turn].First[p.id]; ok && turn > s.closed && turn <= passed {
			g.Marks = append(g.Marks, schemas.TurnMark{Turn: turn, Offset: m.Offset, AppendTime: m.AppendTime})
		}
	}
	return g
}

// markTallied records that the tallies of all records read so far are on control.
func (s *Source) markTallied() {
	s.tallies = newTallies()
	for _, p := range s.partitions {
		p.talliedTo = p.next
		p.aheadOffsets = slices.DeleteFunc(p.aheadOffsets, below(s.lowestNeeded(p)))
	}
}

// ownEnd reports whether the group has read all its input, and returns the last turn that contains
// one of its events. In a bounded run, that turn is 0 before the end of the input.
func (s *Source) ownEnd() (atEnd bool, last uint64) {
	switch {
	case s.opts.UntilEnd:
		return s.pastEnds(), s.owed
	case !s.opts.Bounded || !s.atEnd():
		return false, 0
	}
	return true, max(s.closed, s.opened, s.lastBuffered())
}

// eachGroup calls fn with the progress of every other group if this is group 0; otherwise it does
// nothing. A reader without a PASSED has not passed any turn.
func (s *Source) eachGroup(fn func(*controllog.Group)) {
	if s.opts.Groups <= 1 || s.opts.Group > 0 {
		return
	}
	s.control.WithView(func(v *controllog.View) {
		for n := 1; n < s.opts.Groups; n++ {
			fn(cmp.Or(v.Groups[uint32(n)], &controllog.Group{}))
		}
	})
}

// allAtEnd is ownEnd for all groups.
func (s *Source) allAtEnd() (all bool, last uint64) {
	all, last = s.ownEnd()
	s.eachGroup(func(g *controllog.Group) { all, last = all && g.AtEnd, max(last, g.Last) })
	return all, last
}

// allTallies returns the tallies of all groups since the last CLOSE.
func (s *Source) allTallies() schemas.ReadTallies {
	all := newTallies()
	all.Add(s.tallies)
	s.eachGroup(func(g *controllog.Group) { all.Add(g.Tallies) })
	return all
}

// recordsOf returns how many records a turn has in all groups.
func (s *Source) recordsOf(turn uint64) (records uint64) {
	if b := s.buffers[turn]; b != nil {
		records = b.Records
	}
	s.eachGroup(func(g *controllog.Group) { records += g.Each[turn] })
	return records
}

// compareCounts reports whether every group has read the turn of a CLOSE. If so, it returns an
// error unless the groups have as many records as the CLOSE counts. In groups other than 0 it
// returns true.
func (s *Source) compareCounts(c *schemas.Close) (all bool, err error) {
	if s.opts.Group > 0 {
		return true, nil
	}
	all = true
	s.eachGroup(func(g *controllog.Group) { all = all && g.Turn >= c.Turn })
	if !all {
		return false, nil
	}
	if s.recordsOf(c.Turn) != c.Contributions {
		return false, fmt.Errorf("opening turn %d: the topic does not contain as many of its events as its "+
			"CLOSE: records were changed or lost, or the configuration was changed: %w", c.Turn, deployment.ErrLogFault)
	}
	return true, nil
}
