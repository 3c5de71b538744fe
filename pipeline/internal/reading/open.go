package reading

import (
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// settleOverdue reports whether the open turn has exceeded its time limit, so that group 0 must
// start a new epoch. The limit doubles with every epoch that was given up for the same turn. So
// even a large turn, or a turn on a slow machine, settles eventually.
func (s *Source) settleOverdue(settled uint64) bool {
	limit := s.opts.StallLimit
	if settled == s.stalledAfter && limit < maxStallLimit {
		if limit > maxStallLimit>>s.stalledEpochs { // shifting limit might overflow
			limit = maxStallLimit
		} else {
			limit <<= s.stalledEpochs
		}
	}
	return s.opts.Group == 0 && s.opened > settled && time.Since(s.openedAt) > limit
}

// open opens the turn after the settled one once control contains its CLOSE and every partition has
// been read up to its cut; in group 0, also the partitions of the other groups. The tick in Beam's
// time is the epoch plus the number of turns settled in it. It is the same in all groups, and later
// than in any earlier epoch, because every EPOCH and SETTLED is a record with its own offset.
func (s *Source) open(settled uint64) (transforms.Step, error) {
	turn := settled + 1
	if s.opened >= turn || s.closed < turn {
		return transforms.Step{}, nil
	}
	var c *controllog.Closing
	settledAt, current := int64(-1), false
	step := transforms.Step{Opened: true}
	s.control.WithView(func(v *controllog.View) {
		c = v.Closes[turn]
		if offset, ok := v.SettledAt[settled]; ok {
			settledAt = offset
		}
		current = v.Epoch == s.epoch.Load() && v.Settled == settled
		step.Next.Tick = v.Epoch + v.Turns + 1
	})
	if !current {
		return transforms.Step{}, nil // the epoch or the settled turn has changed
	}
	if c == nil {
		return transforms.Step{}, fmt.Errorf("opening turn %d: control says that it is closed, but its CLOSE is "+
			"missing: %w", turn, deployment.ErrLogFault)
	}
	open := schemas.Open{Epoch: s.epoch.Load(), Turn: turn, Contributions: c.Contributions, SettledAt: settledAt,
		FromLedger: s.fromLedger == turn, Group: uint32(s.opts.Group), Groups: uint32(s.opts.Groups)}
	b := s.buffers[turn]
	if !open.FromLedger {
		if !s.readTo(c.Cuts) || s.opts.Group > 0 && s.lastPassed.turn < turn {
			return transforms.Step{}, nil
		}
		if all, err := s.compareCounts(&c.Close); err != nil || !all {
			return transforms.Step{}, err
		}
		if b != nil {
			var err error
			if step.Elements, err = b.Contributions(nil, open.Epoch, turn); err != nil {
				return transforms.Step{}, err
			}
		}
	}
	for n := range s.dep.Config.Shards {
		open.Shard, open.Shards = uint32(n), uint32(s.dep.Config.Shards)
		step.Elements = append(step.Elements, transforms.Element{Shard: n, Data: schemas.EncodeOpen(open)})
	}
	if b != nil {
		s.buffered -= b.Records
		delete(s.buffers, turn)
		s.spare.Put(b)
	}
	s.opened, s.openedAt = turn, time.Now()
	s.underWay = max(s.underWay, turn)
	return step, nil
}

// readTo reports whether every partition has been read up to the cuts of a CLOSE.
func (s *Source) readTo(cuts []schemas.Cut) bool {
	return !slices.ContainsFunc(s.partitions, func(p *partition) bool { return p.next < cutOf(cuts, p.id) })
}
