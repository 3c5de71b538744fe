package kafkalog

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets holds the bounds of a partition's log.
type Offsets struct {
	Start      int64 // offset of the first remaining record
	High       int64 // after the last record that all in-sync replicas have
	LastStable int64 // after the last record before any open transaction; at most High
}

const (
	latestTime      = -1
	earliestTime    = -2
	readUncommitted = 0
	readCommitted   = 1
)

// Offsets asks the leader of a partition for the bounds of its log. Each bound only grows, so they
// are requested in an order that ensures Start ≤ LastStable ≤ High. Errors: ErrUnknownTopic.
func (c *Client) Offsets(ctx context.Context, topic string, partition int32) (Offsets, error) {
	var o Offsets
	var err error
	if o.Start, err = c.listOffset(ctx, topic, partition, earliestTime, readUncommitted); err != nil {
		return Offsets{}, err
	}
	if o.LastStable, err = c.listOffset(ctx, topic, partition, latestTime, readCommitted); err != nil {
		return Offsets{}, err
	}
	if o.High, err = c.listOffset(ctx, topic, partition, latestTime, readUncommitted); err != nil {
		return Offsets{}, err
	}
	return o, nil
}

// OffsetAt returns the first offset whose timestamp is at or after millis (Unix ms, ≥ 0).
func (c *Client) OffsetAt(ctx context.Context, topic string, partition int32,
	millis int64) (offset int64, found bool, err error) {
	if millis < 0 {
		return 0, false, fmt.Errorf("asking for the offset at a time: %d ms is before 1970", millis)
	}
	offset, err = c.listOffset(ctx, topic, partition, millis, readUncommitted)
	return offset, err == nil && offset >= 0, err
}

// listOffset requests one offset, because brokers refuse two for the same partition in one request.
func (c *Client) listOffset(ctx context.Context, topic string, partition int32, timestamp int64,
	isolation int8) (int64, error) {
	req := &listoffsets.Request{ReplicaID: -1, IsolationLevel: isolation, Topics: []listoffsets.RequestTopic{{
		Topic: topic, Partitions: []listoffsets.RequestPartition{
			{Partition: partition, CurrentLeaderEpoch: -1, Timestamp: timestamp}},
	}}}
	doing := fmt.Sprintf("asking for offsets of topic %q partition %d", topic, partition)
	var offset int64
	err := c.atLeader(ctx, doing, topic, partition, func(leader requestor) error {
		res := kmsg.NewPtrListOffsetsResponse()
		if err := leader(ctx, req, res); err != nil {
			return err
		}
		if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
			return ErrCorrupt
		}
		p := res.Topics[0].Partitions[0]
		offset = p.Offset
		return codeError(p.ErrorCode)
	})
	return offset, err
}

// FirstTime returns the earliest timestamp (Unix ms, at least 0) among the first committed records
// of a topic's partitions. Later records may be older. Errors: ErrUnknownTopic.
func (c *Client) FirstTime(ctx context.Context, topic string) (millis int64, found bool, err error) {
	partitions, err := c.Partitions(ctx, topic)
	if err != nil {
		return 0, false, err
	}
	for _, p := range partitions {
		bounds, err := c.Offsets(ctx, topic, p)
		if err != nil {
			return 0, false, err
		}
		err = c.ReadRange(ctx, topic, p, bounds.Start, bounds.LastStable, func(r Record) error {
			if timestamp := max(r.Timestamp, 0); !found || timestamp < millis {
				millis, found = timestamp, true
			}
			return StopReading
		})
		if err != nil {
			return 0, false, err
		}
	}
	return millis, found, nil
}
