package kafkalog

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// EpochEnd asks the leader of a partition where a leader epoch ended. It returns the greatest epoch
// in the leader's log that is at most leaderEpoch, and the offset at which the next greater epoch
// begins, or the end of the log. If every epoch in the log is greater, it returns leaderEpoch and
// the offset at which the first epoch begins. If the log has nothing after leaderEpoch, it returns
// −1 and −1.
//
// A record of epoch e at offset o is unchanged if and only if o is below the start of the log, or
// EpochEnd(e) returns e and an end above o: an election that lost the record began a greater epoch
// at o or below.
func (c *Client) EpochEnd(ctx context.Context, topic string,
	partition, leaderEpoch int32) (endOffset int64, epoch int32, err error) {
	doing := fmt.Sprintf("asking for the end of leader epoch %d of topic %q partition %d", leaderEpoch, topic,
		partition)
	req := franzRequest{newest: newest[protocol.OffsetForLeaderEpoch], make: func() kmsg.Request {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest() // by default, the request of a consumer
		requested := kmsg.OffsetForLeaderEpochRequestTopicPartition{Partition: partition, CurrentLeaderEpoch: -1,
			LeaderEpoch: leaderEpoch}
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{
			{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{requested}}}
		return req
	}}
	endOffset, epoch = -1, -1
	err = c.atLeader(ctx, doing, topic, partition, func(leader requestor) error {
		res := kmsg.NewPtrOffsetForLeaderEpochResponse()
		err := leader(ctx, req, res)
		if err == nil {
			endOffset, epoch, err = epochEnd(res, topic, partition)
		}
		return err
	})
	return endOffset, epoch, err
}

func epochEnd(res *kmsg.OffsetForLeaderEpochResponse, topic string,
	partition int32) (endOffset int64, epoch int32, err error) {
	if len(res.Topics) != 1 || res.Topics[0].Topic != topic || len(res.Topics[0].Partitions) != 1 ||
		res.Topics[0].Partitions[0].Partition != partition {
		return -1, -1, ErrCorrupt
	}
	p := res.Topics[0].Partitions[0]
	if err := codeError(p.ErrorCode); err != nil {
		return -1, -1, err
	}
	return p.EndOffset, p.LeaderEpoch, nil
}

// LeaderEpoch returns the leader epoch of a partition, or −1 if the cluster does not report it.
func (c *Client) LeaderEpoch(ctx context.Context, topic string, partition int32) (int32, error) {
	doing := fmt.Sprintf("asking for the leader epoch of topic %q partition %d", topic, partition)
	epoch := int32(-1)
	c.forget(topic)
	err := c.atLeader(ctx, doing, topic, partition, func(requestor) error {
		defer c.lock()()
		epoch = c.topics[topic][partition].epoch
		return nil
	})
	return epoch, err
}
