package reading

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// poll reads control and the needed partitions with one fetch, which waits for the first record for
// at most wait.
func (s *Source) poll(ctx context.Context, settled uint64, wait time.Duration) error {
	if err := s.refreshPartitions(ctx); err != nil {
		return err
	}
	s.awaitFirstRecord()
	if s.opts.Group == 0 {
		if err := s.dead.checkTopic(ctx, time.Now()); err != nil {
			return err
		}
	}
	var from int64
	s.control.WithView(func(v *controllog.View) { from = v.Next })
	fetches, byID := s.nextFetches(from, settled)
	defer s.dead.forget()
	s.needed = s.lastNeeded()
	fetched, err := s.fetcher.Poll(ctx, fetches, 1, wait)
	if err != nil {
		return fmt.Errorf("fetching: %w", err)
	}
	for i := range fetched {
		g := &fetched[i]
		if g.Topic == s.control.Topic {
			if g.Err != nil {
				return fmt.Errorf("reading control: %w", g.Err)
			}
			if err := s.control.Feed(ctx, cloneRecords(g.Records)); err != nil {
				return err
			}
			continue
		}
		if err := s.readFetched(byID[g.Partition], g); err != nil {
			return err
		}
	}
	s.clock.report(time.Now())
	s.reportProgress(settled)
	for _, p := range s.partitions {
		s.opts.Losses.Observe(time.Now(), &p.outcomes)
	}
	return s.dead.flush(ctx)
}

// nextFetches returns the fetches of control and of the partitions to read, and these partitions by
// number. Brokers fill a response in the order of the request, so the partition with the lowest
// watermark, for which the turn waits, comes first. No partition starves: while it gets no records,
// its watermark stays and the other watermarks advance, until it comes first.
func (s *Source) nextFetches(control int64, settled uint64) ([]kafkalog.Fetch, map[int32]*partition) {
	byID := map[int32]*partition{}
	var toRead []*partition
	for _, p := range s.partitions {
		if s.shouldRead(p, settled) {
			byID[p.id] = p
			toRead = append(toRead, p)
		}
	}
	spec := s.dep.Metrics[0].Spec
	slices.SortStableFunc(toRead, func(a, b *partition) int {
		return cmp.Compare(a.watermark(spec), b.watermark(spec))
	})
	fetches := []kafkalog.Fetch{{Topic: s.control.Topic, Partition: controllog.Partition, Offset: control,
		MaxBytes: fetchBytes}}
	for _, p := range toRead {
		fetches = append(fetches,
			kafkalog.Fetch{Topic: s.dep.Config.Events.Topic, Partition: p.id, Offset: p.next, MaxBytes: fetchBytes})
	}
	return fetches, byID
}

// cloneRecords copies records of control, because the next poll overwrites their memory.
func cloneRecords(records []kafkalog.Record) []kafkalog.Record {
	out := slices.Clone(records)
	for i := range out {
		out[i].Key, out[i].Value = bytes.Clone(out[i].Key), bytes.Clone(out[i].Value)
	}
	return out
}

// shouldRead reports whether to read more of a partition. Reading ahead is limited by event time.
// On partitions that no turn waits for, it is also limited by the number of buffered events.
func (s *Source) shouldRead(p *partition, settled uint64) bool {
	if p.readToEnd() {
		return false
	}
	if p.next < p.talliedTo {
		return true // a closed turn waits for this partition
	}
	if s.lastKnown && s.closed+1 >= s.last {
		return true // the run waits only for the end of the input
	}
	if p.idleUntil != calendar.Never && s.dep.Config.Time.Trust == deployment.TrustProducer {
		return true // only further responses show that the partition is still silent
	}
	if s.opts.UntilEnd && p.next < s.opts.Ends[p.id] && s.owed <= s.closed {
		return true // no turn can close before another event is read
	}
	spec := s.dep.Metrics[0].Spec
	w := p.watermark(spec)
	holdsBack := w < s.classifier.turns.End(s.closed+1)
	if s.buffered > maxBuffered {
		return holdsBack
	}
	return holdsBack || w < s.classifier.turns.End(settled+1+lookahead)
}

// readFetched reads the fetched records of partition p; p is nil if it was not requested.
func (s *Source) readFetched(p *partition, g *kafkalog.Fetched) error {
	if p == nil {
		return nil
	}
	if err := s.checkFetched(p, g); err != nil {
		return err
	}
	age := time.Now().UnixMilli() - g.RequestedAt
	if age < 0 { // the clock was set back
		age = unansweredLimit.Milliseconds()
	}
	if n := len(g.Records); n > 0 && g.AppendTime && p.atEnd {
		now, _ := s.clock.now()
		s.clock.setBroker(g.Records[n-1].Timestamp, now-p.fetchedAt)
	}
	now, latest := s.clock.now()
	g.RequestedAt, s.classifier.uncertainty = now-age, latest-now
	for i := range g.Records {
		rec := &g.Records[i]
		if rec.Offset < p.next {
			continue
		}
		if rec.Offset >= p.end {
			break
		}
		if err := s.readRecord(p, rec, now); err != nil {
			return err
		}
		p.next = rec.Offset + 1
	}
	p.next = min(max(p.next, g.Next), p.end)
	s.applyIdleRule(p, g)
	return nil
}

// checkFetched returns the error of a fetch, or an error if the records have producers' times but
// the deployment trusts the broker's.
func (s *Source) checkFetched(p *partition, g *kafkalog.Fetched) error {
	place := fmt.Sprintf("reading %s partition %d at offset %d", g.Topic, p.id, p.next)
	switch {
	case errors.Is(g.Err, kafkalog.ErrOffsetOutOfRange):
		return fmt.Errorf("%s: these records are gone, but turns that are closed but not settled need them: check "+
			"the retention of the events topic: %w: %w", place, deployment.ErrLogFault, g.Err)
	case g.Err != nil:
		return fmt.Errorf("%s: %w", place, g.Err)
	case len(g.Records) > 0 && !g.AppendTime && s.dep.Config.Time.Trust == deployment.TrustBroker:
		return fmt.Errorf("%s: batches have producers' times, but the deployment trusts the broker's: begin a new "+
			"deployment with new keys, on another topic with message.timestamp.type=LogAppendTime, or with "+
			"time.trust: producer: %w", place, deployment.ErrLogFault)
	}
	return nil
}

// readRecord classifies a record, tallies it, and buffers its contribution.
func (s *Source) readRecord(p *partition, rec *kafkalog.Record, now int64) error {
	before := packing.Mark{Offset: rec.Offset, AppendTime: p.appendTime}
	p.leaderEpoch = rec.LeaderEpoch
	v, err := s.classifier.classify(p, rec, now)
	if err != nil {
		return fmt.Errorf("decoding the record at offset %d of partition %d: %w", rec.Offset, p.id, err)
	}
	if v.Outcome == watch.Accepted && s.isOvertaken(p.id, rec.Offset, v.turn) {
		v.Outcome = watch.Overtaken
	}
	if rec.Offset >= p.talliedTo { // no run has tallied it
		v.tally(&s.tallies)
		p.outcomes.Count(v.Outcome, v.class)
		if v.Outcome == watch.DeadLettered {
			s.dead.add(s.dep.Config.Events.Topic, rec, v.class)
		}
	}
	if v.Outcome != watch.Accepted {
		return nil
	}
	turn := v.turn
	if s.opts.UntilEnd && rec.Offset < s.opts.Ends[p.id] {
		s.owed = max(s.owed, turn)
	}
	if turn <= s.opened || turn <= s.fromLedger {
		return nil // the turn is open, settled, or redone from the ledger
	}
	if turn > s.needed {
		s.skipEvent(p.id, turn, before)
		return nil
	}
	b := s.buffers[turn]
	if b == nil {
		if turn <= s.closed+1+lookahead {
			b = s.spare.Buffer()
		} else {
			b = s.spare.Distant()
		}
		s.buffers[turn] = b
	}
	e := &s.classifier.event
	user := packing.User(nil)
	if len(e.User) > 0 {
		user = s.users.Of(e.User)
	} else {
		user = s.users.Unnamed(p.id, rec.Offset)
	}
	c := packing.Contribution{
		User:   user,
		Period: s.classifier.turns.PeriodOf(e.Millis),
		Label:  schemas.Label{Key: e.Key, Passes: e.Passes},
		Value:  e.Value,
	}
	if c.Sums = s.dep.Sums.Includes(e); c.Sums {
		c.ID = s.hasher.Record(rec.Value)
	}
	b.Add(&c, p.id, before)
	s.buffered++
	return nil
}
