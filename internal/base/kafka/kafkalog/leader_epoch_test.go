package kafkalog

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestEpochEndTellsWhereALeadersRecordsEnd(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	write := func(values ...string) {
		p := newProducer(t, c, 0, "")
		defer p.Close()
		mustAppend(t, p, values...)
	}
	write("a", "b", "c")
	cluster.ShufflePartitionLeaders()
	cluster.ShufflePartitionLeaders()
	write("d", "e") // in epoch 2; epoch 1 wrote nothing
	cluster.ShufflePartitionLeaders()
	write("f")
	for _, tt := range []struct {
		asked int32
		end   int64
		epoch int32
	}{{0, 3, 0}, {1, 3, 0}, {2, 5, 2}, {3, 6, 3}, {4, -1, -1}} {
		end, epoch, err := c.EpochEnd(t.Context(), "t", 0, tt.asked)
		if err != nil || end != tt.end || epoch != tt.epoch {
			t.Errorf("EpochEnd(%d) = %d, %d, %v; want %d, %d", tt.asked, end, epoch, err, tt.end, tt.epoch)
		}
	}
	var seen []int32
	err := c.ReadRange(t.Context(), "t", 0, 0, 6, func(r Record) error {
		seen = append(seen, r.LeaderEpoch)
		return nil
	})
	if err != nil || len(seen) != 6 || seen[2] != 0 || seen[3] != 2 || seen[5] != 3 {
		t.Errorf("the records' epochs are %v, %v", seen, err)
	}
}

func TestEpochAnswersForOthersAreCorrupt(t *testing.T) {
	t.Parallel()
	response := func(topic string, partition int32, code int16) *kmsg.OffsetForLeaderEpochResponse {
		end := kmsg.OffsetForLeaderEpochResponseTopicPartition{ErrorCode: code, Partition: partition, LeaderEpoch: 2,
			EndOffset: 17}
		return &kmsg.OffsetForLeaderEpochResponse{
			Topics: []kmsg.OffsetForLeaderEpochResponseTopic{
				{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{end}}}}
	}
	for name, res := range map[string]*kmsg.OffsetForLeaderEpochResponse{"topic": response("u", 3, 0),
		"partition": response("t", 4, 0), "none": {}} {
		if _, _, err := epochEnd(res, "t", 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := epochEnd(response("t", 3, 6), "t", 3); err == nil || !retriable(err) {
		t.Errorf("not the leader: %v", err)
	}
}
