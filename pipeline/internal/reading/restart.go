package reading

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/ledgerlog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

// partitionsRefresh is the interval between checks for new partitions of the events topic.
const partitionsRefresh = 10 * time.Second

// start begins a new epoch, and determines from control, ledger and counts alone where to continue.
// Every start takes this path: after a crash, an upgrade or an engine's restore. It returns
// deployment.ErrSuperseded if a newer run has started.
func (s *Source) start(ctx context.Context) error {
	if err := s.control.Update(ctx); err != nil {
		return err
	}
	var settled uint64
	if err := s.checkMayRun(func(v *controllog.View) { settled = v.Settled }); err != nil {
		return err
	}
	record := s.control.NewEpoch(settled)
	var err error
	if record.Cluster, record.EventsID, err = s.client.TopicID(ctx, s.dep.Config.Events.Topic); err != nil {
		return fmt.Errorf("finding the events topic: %w", err)
	}
	offsets, err := s.append(ctx, record)
	if err != nil {
		return err
	}
	s.epochRecord = record
	epoch := offsets[0]
	if err := s.control.Update(ctx); err != nil {
		return err
	}
	newest := int64(-1)
	if err := s.checkMayRun(func(v *controllog.View) { newest = v.Epoch }); err != nil {
		return err
	}
	if newest != epoch {
		return errReplaced
	}
	return s.resume(ctx, epoch, func(settled uint64) (interruption, error) { return s.interrupted(ctx, settled) })
}

// checkMayRun calls read with the state of control. It returns an error if that state means that
// this run must end.
func (s *Source) checkMayRun(read func(*controllog.View)) (err error) {
	s.control.WithView(func(v *controllog.View) {
		read(v)
		switch {
		case v.Run > s.run:
			err = deployment.ErrSuperseded // a superseded run never starts another epoch
		case v.Stop != nil:
			err = controllog.Stopped(v.Stop)
		case v.HeaderAt != s.control.HeaderAt:
			err = fmt.Errorf("starting: the deployment has been changed meanwhile: start the run again with the "+
				"configuration of the new generation: %w", deployment.ErrHeaderMismatch)
		}
	})
	return err
}

// interruption is how far an earlier epoch got with the turn after the settled one. begun: the
// ledger contains decisions of some shards. redo: it contains decisions of all shards, so this
// epoch redoes the turn from the ledger.
type interruption struct{ begun, redo bool }

// resume starts reading in an epoch. interrupted returns the interruption after the settled turn.
func (s *Source) resume(ctx context.Context, epoch int64,
	interrupted func(settled uint64) (interruption, error)) error {
	var settled uint64
	var closes map[uint64]*controllog.Closing
	fresh := session{buffers: map[uint64]*packing.Buffer{}, tallies: newTallies(), openedAt: time.Now()}
	s.control.WithView(func(v *controllog.View) {
		settled, closes, fresh.closed = v.Settled, maps.Clone(v.Closes), v.Closed
	})
	fresh.opened, fresh.closeWritten = settled, fresh.closed
	earlier, err := interrupted(settled)
	if err != nil {
		return err
	}
	base, err := baseOf(earlier, settled, closes)
	if err != nil {
		return err
	}
	if earlier.redo {
		fresh.fromLedger = base
		if s.opts.UntilEnd { // its events are not read again, but may be the last before the ends
			s.owed = max(s.owed, base)
		}
	}
	fresh.partitions, err = s.positions(ctx, base, fresh.closed, closes)
	if err != nil {
		return err
	}
	fresh.noRecords = fresh.closed == 0 && s.dep.Config.Time.Trust == deployment.TrustProducer && s.endless()
	s.session = fresh
	if !s.opts.Until.IsZero() {
		s.fixLastTurn() // READ buffers no contribution to later turns
	}
	if earlier.begun && closes[settled+1] != nil {
		s.underWay = max(s.underWay, settled+1)
	}
	s.epoch.Store(epoch)
	s.refreshed = time.Now()
	s.log.Info("reading", "epoch", epoch, "settled_turns", settled, "redo_from_ledger", earlier.redo, "group",
		s.opts.Group)
	return s.announceRedo(ctx)
}

// baseOf returns the last turn whose events are not read again: the settled turn, or the next one
// if that is redone from the ledger.
func baseOf(before interruption, settled uint64, closes map[uint64]*controllog.Closing) (uint64, error) {
	if !before.redo {
		return settled, nil
	}
	next := settled + 1
	if closes[next] == nil {
		return 0, fmt.Errorf("starting at turn %d: the ledger has decided it, but control has no CLOSE for it: "+
			"control was restored from an older copy than the ledger, or has lost records. Restore both as they were "+
			"at one moment, or begin a new deployment with new keys (docs/failover.md): %w", next,
			deployment.ErrLogFault)
	}
	return next, nil
}

// Compare compares ledger, counts and events with control as a run does when it starts, without
// writing. It returns deployment.ErrLogFault if topics were restored from different moments or have
// lost records. underWay is the unsettled turn with decisions on the ledger; 0: none. If control
// changes during the comparison, a run is active and has made the comparison itself, so Compare
// returns 0 and nil.
func Compare(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	log *slog.Logger) (underWay uint64, err error) {
	s := &Source{dep: d, client: client, control: control, log: log, clock: newTrustedTime(d.Config.Time.Skew, log),
		opts: Options{Groups: 1}, classifier: classifier{rules: timeRulesOf(d)}}
	var before, now controllog.Standing
	var closes map[uint64]*controllog.Closing
	control.WithView(func(v *controllog.View) { before, closes = v.Standing, maps.Clone(v.Closes) })
	var base uint64
	earlier, err := s.interrupted(ctx, before.Settled)
	if err == nil {
		base, err = baseOf(earlier, before.Settled, closes)
	}
	if err == nil {
		if earlier.begun {
			underWay = before.Settled + 1
		}
		_, err = s.positions(ctx, base, before.Closed, closes)
	}
	if err != nil || underWay > 0 {
		if failed := control.Update(ctx); failed != nil {
			return 0, failed
		}
		control.WithView(func(v *controllog.View) { now = v.Standing })
		if now != before {
			return 0, nil
		}
	}
	return underWay, err
}

// interrupted determines the interruption from the ledger deltas for the turn after the settled
// one. If all shards have a delta, the turn may be published already and is redone from the ledger.
// If a shard lacks its delta but counts contains values of the turn, records were lost, because a
// turn is released only after all its deltas are durable.
func (s *Source) interrupted(ctx context.Context, settled uint64) (interruption, error) {
	// Counts must be read before the ledger. An older run may still be writing, but the ledger then
	// contains the deltas of all values that were on counts.
	published, err := countslog.PublishedAfter(ctx, s.client, s.dep, s.control, settled)
	if err != nil {
		return interruption{}, err
	}
	decidedShards := 0
	for shard := range s.dep.Config.Shards {
		decided, err := ledgerlog.Decided(ctx, s.client, s.control, s.dep, int32(shard), settled)
		if err != nil {
			return interruption{}, err
		}
		if decided {
			decidedShards++
		}
	}
	if decidedShards == s.dep.Config.Shards {
		return interruption{begun: true, redo: true}, nil
	}
	if published {
		return interruption{}, fmt.Errorf("starting at turn %d: counts contains values of it, but %d of %d shards "+
			"have no ledger record for it: the ledger was restored from an older copy than counts or has lost "+
			"records, or another program wrote to counts. Restore control, ledger and counts as they were at one "+
			"moment, or begin a new deployment with new keys (docs/failover.md): %w", settled+1,
			s.dep.Config.Shards-decidedShards, s.dep.Config.Shards, deployment.ErrLogFault)
	}
	return interruption{begun: decidedShards > 0}, nil
}

// positions returns the partitions with the offsets at which reading starts: the restart offsets of
// the CLOSE of turn base, or the start of the topic if no turn is closed yet.
func (s *Source) positions(ctx context.Context, base, closed uint64,
	closes map[uint64]*controllog.Closing) ([]*partition, error) {
	topic := s.dep.Config.Events.Topic
	ids, err := s.client.Partitions(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("finding the events topic: %w", err)
	}
	ids = s.ownPartitions(ids)
	if base > 0 && closes[base] == nil {
		return nil, fmt.Errorf("starting after turn %d: its CLOSE is missing from control: %w", base,
			deployment.ErrLogFault)
	}
	out, known := make([]*partition, len(ids)), make(map[int32]*partition, len(ids))
	for i, id := range ids {
		if out[i], err = s.position(ctx, id, base, closes); err != nil {
			return nil, err
		}
		known[id] = out[i]
	}
	now, _ := s.clock.now()
	for turn := base; turn <= closed; turn++ {
		c := closes[turn]
		if c == nil {
			continue
		}
		for i := range c.Cuts {
			p := known[c.Cuts[i].Partition]
			if p == nil && !s.ownsPartition(c.Cuts[i].Partition) {
				continue
			}
			if p == nil {
				return nil, fmt.Errorf("starting after turn %d: partition %d of %s is gone: a topic must keep all its "+
					"partitions: %w", base, c.Cuts[i].Partition, topic, deployment.ErrLogFault)
			}
			p.restore(&c.Cuts[i], now)
		}
	}
	if s.opts.Group > 0 {
		return out, nil // group 0 compares all partitions
	}
	if err := CheckSameRecords(ctx, s.client, topic, closes[closed]); err != nil {
		return nil, err
	}
	if err := s.checkSameOffsets(ctx, closes[closed]); err != nil {
		return nil, err
	}
	return out, s.checkSameTopic(ctx, closes[closed])
}

// restore applies the state of a partition in a CLOSE, at time now. Call it with older CLOSEs
// first: the newest decides whether the partition is silent. A bounded run reads at least up to the
// cuts, because an earlier run may have written the CLOSE after the ends were determined.
func (p *partition) restore(c *schemas.Cut, now int64) {
	p.talliedTo, p.end = max(p.talliedTo, c.Cut), max(p.end, c.Cut)
	if p.silentSince = now; c.Idle {
		p.silentSince = calendar.Never // the partition is silent until a record after the cut is read
	}
	p.lag = lag{millis: c.Lag, lasting: true}
	for _, o := range c.Ahead {
		if !p.replayed[o] {
			p.replayed[o] = true
			p.aheadOffsets = append(p.aheadOffsets, o)
		}
	}
	slices.Sort(p.aheadOffsets)
}

// newPartition returns the state of a partition of which nothing has been read, at time now. It
// keeps when earlier epochs last got a response, because the new epoch may follow a long outage.
func (s *Source) newPartition(id int32, now int64) *partition {
	return &partition{id: id, appendTime: calendar.Never, leaderEpoch: -1, idleUntil: calendar.Never, silentSince: now,
		fetchedAt: s.answeredAt[id], end: calendar.Forever, replayed: map[int64]bool{}}
}

// position returns a partition with the offset at which reading starts.
func (s *Source) position(ctx context.Context, id int32, base uint64,
	closes map[uint64]*controllog.Closing) (*partition, error) {
	now, _ := s.clock.now()
	p := s.newPartition(id, now)
	bounds, err := s.client.Offsets(ctx, s.dep.Config.Events.Topic, id)
	if err != nil {
		return nil, fmt.Errorf("reading partition %d of the events topic: %w", id, err)
	}
	p.next = bounds.Start
	if c := closes[base]; c != nil {
		for i := range c.Cuts {
			if c.Cuts[i].Partition == id {
				p.next, p.appendTime = c.Cuts[i].Restart, c.Cuts[i].AppendTime
				p.leaderEpoch = c.Cuts[i].LeaderEpoch
			}
		}
	}
	if p.next < bounds.Start || p.next > bounds.High {
		return nil, fmt.Errorf("starting at offset %d of partition %d of %s: the topic has only offsets %d to %d: "+
			"records that a turn needs are gone, or the topic was recreated: %w", p.next, id, s.dep.Config.Events.Topic,
			bounds.Start, bounds.High, deployment.ErrLogFault)
	}
	if s.opts.Bounded {
		p.end = s.opts.Ends[id]
	}
	return p, nil
}

// refreshPartitions adds new partitions of the events topic. They are read from their beginning and
// are part of the next CLOSE. It returns an error if the topic was recreated.
func (s *Source) refreshPartitions(ctx context.Context) error {
	if s.opts.Bounded || time.Since(s.refreshed) < partitionsRefresh {
		return nil
	}
	s.refreshed = time.Now()
	if s.opts.Group == 0 {
		if err := s.checkTopicOf(ctx, s.epochRecord); err != nil {
			return err
		}
	}
	ids, err := s.client.Partitions(ctx, s.dep.Config.Events.Topic)
	if err != nil {
		return fmt.Errorf("finding new partitions: %w", err)
	}
	if ids = s.ownPartitions(ids); len(ids) < len(s.partitions) {
		return fmt.Errorf("finding new partitions: %s had %d partitions and now has %d, so it was recreated: %w",
			s.dep.Config.Events.Topic, len(s.partitions), len(ids), deployment.ErrLogFault)
	}
	for _, id := range ids {
		if slices.ContainsFunc(s.partitions, func(p *partition) bool { return p.id == id }) {
			continue
		}
		p, err := s.position(ctx, id, 0, nil)
		if err != nil {
			return err
		}
		s.partitions = append(s.partitions, p)
	}
	slices.SortFunc(s.partitions, func(a, b *partition) int { return int(a.id - b.id) })
	if s.noRecords && s.opts.Groups > 1 { // the first record may be in another group
		ends, err := Ends(ctx, s.client, s.dep.Config.Events.Topic)
		if err != nil {
			return err
		}
		for _, end := range ends {
			if end > 0 {
				s.beginSilence()
			}
		}
	}
	return nil
}

// awaitFirstRecord begins the silence of all partitions once the topic contains a record. Until
// then, an endless run with producers' times keeps all windows open: the first record may be old.
func (s *Source) awaitFirstRecord() {
	if s.noRecords && slices.ContainsFunc(s.partitions, func(p *partition) bool { return p.next > 0 }) {
		s.beginSilence()
	}
}

// beginSilence makes every partition's silence begin now, so that each has a grace period for its
// first record.
func (s *Source) beginSilence() {
	s.noRecords = false
	now, _ := s.clock.now()
	for _, p := range s.partitions {
		p.silentSince, p.idleUntil = now, calendar.Never
	}
}
