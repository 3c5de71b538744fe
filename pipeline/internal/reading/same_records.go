package reading

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// CheckSameRecords returns deployment.ErrLogFault if the records below the cuts of the last CLOSE
// are not those that were read. After an unclean leader election, or in a recreated topic, other
// records can have the same offsets. It compares only the newest cuts, because a log that contains
// a record of a leader epoch also contains all earlier records of the epoch's leader. newest may be
// nil.
func CheckSameRecords(ctx context.Context, client *kafkalog.Client, topic string, newest *controllog.Closing) error {
	if newest == nil {
		return nil
	}
	for i := range newest.Cuts {
		if err := CheckSameRecordsBelow(ctx, client, topic, newest.Turn, &newest.Cuts[i]); err != nil {
			return err
		}
	}
	return nil
}

// CheckSameRecordsBelow is CheckSameRecords for one partition. c is its cut in the CLOSE of turn.
func CheckSameRecordsBelow(ctx context.Context, client *kafkalog.Client, topic string, turn uint64,
	c *schemas.Cut) error {
	if c.LeaderEpoch < 0 || c.Cut == 0 {
		return nil // no record was read, or its epoch is unknown
	}
	fault := func(what string) error {
		return fmt.Errorf("comparing partition %d of %s with the CLOSE of turn %d: %s; records that were read before "+
			"are gone (an unclean leader election, a restored broker, or a recreated topic): restore its old records, "+
			"or begin a new deployment with new keys: %w", c.Partition, topic, turn, what, deployment.ErrLogFault)
	}
	bounds, err := client.Offsets(ctx, topic, c.Partition)
	if err != nil {
		return fmt.Errorf("reading partition %d of the events topic: %w", c.Partition, err)
	}
	if c.Cut <= bounds.Start {
		return nil // no record below the cut is left to compare, and a restart needs none
	}
	if bounds.High < c.Cut {
		return fault(fmt.Sprintf("it ends at offset %d but was read up to %d", bounds.High, c.Cut))
	}
	end, epoch, err := client.EpochEnd(ctx, topic, c.Partition, c.LeaderEpoch)
	if err != nil {
		return fmt.Errorf("reading the leader epochs of partition %d of the events topic: %w", c.Partition, err)
	}
	switch {
	case epoch < 0:
		return checkKnownEpoch(ctx, client, topic, c, fault)
	case epoch != c.LeaderEpoch:
		return fault(fmt.Sprintf("leader epoch %d wrote its records, but the partition has no record of that epoch",
			c.LeaderEpoch))
	case end >= c.Cut:
		return nil
	}
	// A later leader has written below the cut. That is no fault if READ does not see what it
	// wrote: markers, aborted records or batches that are empty now.
	from := max(end, bounds.Start)
	otherRecord := false
	err = client.ReadRange(ctx, topic, c.Partition, from, c.Cut, func(kafkalog.Record) error {
		otherRecord = true
		return kafkalog.StopReading
	})
	switch {
	case err != nil:
		return fmt.Errorf("reading partition %d of the events topic: %w", c.Partition, err)
	case otherRecord:
		return fault(fmt.Sprintf("leader epoch %d ended at offset %d, but its records were read up to %d",
			c.LeaderEpoch, end, c.Cut))
	}
	return nil
}

// checkKnownEpoch handles a broker that does not know where the cut's epoch ends. That is normal if
// no later leader has written. It is a fault if the partition has not reached that epoch.
func checkKnownEpoch(ctx context.Context, client *kafkalog.Client, topic string, c *schemas.Cut,
	fault func(string) error) error {
	present, err := client.LeaderEpoch(ctx, topic, c.Partition)
	switch {
	case err != nil:
		return fmt.Errorf("reading the leader epochs of partition %d of the events topic: %w", c.Partition, err)
	case present >= 0 && c.LeaderEpoch > present:
		return fault(fmt.Sprintf("its records were read from leader epoch %d, but the partition is at epoch %d",
			c.LeaderEpoch, present))
	}
	return nil
}

// nearRestart is how many of the records below a restart offset are compared with the cut's time.
const nearRestart = 64

// checkSameOffsets returns an error if the records below the restart offsets of the last CLOSE are
// not those that were read. On a copy with other offsets, such as a mirror, the run would skip
// records. The cut contains the latest time of the records below the restart offset, so a record
// with a later time is not one of them. But if producers' timestamps may be ahead of the clock, the
// cut's time ignores those that are. Then a fault is suspected only if all records near the offset
// are later, and is an error only in a strict run; otherwise it is logged.
func (s *Source) checkSameOffsets(ctx context.Context, newest *controllog.Closing) error {
	if newest == nil {
		return nil
	}
	topic, rules := s.dep.Config.Events.Topic, &s.classifier.rules
	for i := range newest.Cuts {
		c := &newest.Cuts[i]
		bounds, err := s.client.Offsets(ctx, topic, c.Partition)
		if err != nil {
			return fmt.Errorf("reading partition %d of the events topic: %w", c.Partition, err)
		}
		if c.Restart <= bounds.Start || c.AppendTime == calendar.Never {
			continue // no record is left to compare, or none whose time counts
		}
		near, later := 0, 0
		err = s.client.ReadRange(ctx, topic, c.Partition, max(bounds.Start, c.Restart-nearRestart), c.Restart,
			func(r kafkalog.Record) error {
				near++
				if r.Timestamp > c.AppendTime {
					later++
				}
				return nil
			})
		if err != nil {
			return fmt.Errorf("reading partition %d of the events topic: %w", c.Partition, err)
		}
		exact := !rules.trustProducer || rules.acceptFuture
		switch {
		case later > 0 && (exact || s.opts.Strict && later == near):
			return fmt.Errorf("comparing partition %d of %s with the CLOSE of turn %d: records before offset %d are "+
				"later than all that were read there: the topic was recreated, or copied with other offsets or times. "+
				"Restore it with its offsets and times, or begin a new deployment with new keys (docs/failover.md): %w",
				c.Partition, topic, newest.Turn, c.Restart, deployment.ErrLogFault)
		case later > 0 && later == near:
			s.log.Warn(fmt.Sprintf("records before offset %d of partition %d of %s are later than all records that "+
				"counted there: if you restored or copied the topic, its offsets have changed and the run skips "+
				"records (docs/failover.md)", c.Restart, c.Partition, topic))
		}
	}
	return nil
}

// checkSameTopic returns an error if the events topic does not have the id that is in the epoch of
// the last CLOSE: it was recreated, perhaps with as many records. The id is ignored on another
// cluster, because a copy of the topic has an id of its own.
func (s *Source) checkSameTopic(ctx context.Context, newest *controllog.Closing) error {
	if newest == nil {
		return nil
	}
	old, err := s.control.EpochAt(ctx, newest.Epoch)
	if err != nil {
		return err
	}
	return s.checkTopicOf(ctx, old)
}

func (s *Source) checkTopicOf(ctx context.Context, old *schemas.Epoch) error {
	cluster, id, err := s.client.TopicID(ctx, s.dep.Config.Events.Topic)
	switch unknown := [16]byte{}; {
	case err != nil:
		return fmt.Errorf("finding the events topic: %w", err)
	case old.EventsID == unknown || id == unknown || old.Cluster != cluster || old.EventsID == id:
		return nil
	}
	name := base64.RawURLEncoding.EncodeToString
	return fmt.Errorf("comparing topic %s with the one that was read: its id is %s, but %s was read: it was deleted "+
		"and created again, and the run would skip its first records. "+
		"Restore the old topic, or begin a new deployment with new keys (docs/failover.md): %w",
		s.dep.Config.Events.Topic, name(id[:]), name(old.EventsID[:]), deployment.ErrLogFault)
}
