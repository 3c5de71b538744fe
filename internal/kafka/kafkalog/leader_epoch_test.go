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
	err := c.ReadRange(t.Context(), "t", 0, 0, 6, func(r Record) error { seen = append(seen, r.LeaderEpoch); return nil })
	if err != nil || len(seen) != 6 || seen[2] != 0 || seen[3] != 2 || seen[5] != 3 {
		t.Errorf("the records' epochs are %v, %v", seen, err)
	}
}

func TestEpochEndErrorsAreTyped(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	if _, _, err := c.EpochEnd(t.Context(), "t", 9, 0); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("an unknown partition: %v", err)
	}
	if _, _, err := c.EpochEnd(t.Context(), "t", 0, -1); err == nil {
		t.Error("an unknown epoch was asked about")
	}
	c.Close()
	if _, _, err := c.EpochEnd(t.Context(), "t", 0, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func epochBody(topic string, partition int32, end int64, epoch int32, code int16) []byte {
	p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.Partition, p.EndOffset, p.LeaderEpoch, p.ErrorCode = partition, end, epoch, code
	t := kmsg.NewOffsetForLeaderEpochResponseTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, p)
	res := inNewest(kmsg.NewPtrOffsetForLeaderEpochRequest()).ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	res.Topics = append(res.Topics, t)
	return res.AppendTo(nil)
}

func parseEpochEnd(body []byte, topic string, partition int32) (endOffset int64, epoch int32, err error) {
	res, err := decodeResponse(inNewest(kmsg.NewPtrOffsetForLeaderEpochRequest()), body)
	if err != nil {
		return -1, -1, err
	}
	return epochEnd(res.(*kmsg.OffsetForLeaderEpochResponse), topic, partition)
}

// Whatever a broker sends, decoding ends without a panic, and answers only for what was asked.
func FuzzEpochResponse(f *testing.F) {
	f.Add(epochBody("t", 3, 17, 2, 0))
	f.Add(epochBody("t", 3, -1, -1, 6))
	f.Add(epochBody("u", 3, 17, 2, 0))
	f.Add(epochBody("t", 4, 17, 2, 0)[:9])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		end, epoch, err := parseEpochEnd(body, "t", 3)
		if err != nil && (end != -1 || epoch != -1) {
			t.Fatalf("%d, %d with %v", end, epoch, err)
		}
	})
}

func TestEpochAnswersForOthersAreCorrupt(t *testing.T) {
	t.Parallel()
	if end, epoch, err := parseEpochEnd(epochBody("t", 3, 17, 2, 0), "t", 3); end != 17 || epoch != 2 || err != nil {
		t.Errorf("%d, %d, %v", end, epoch, err)
	}
	for name, body := range map[string][]byte{"topic": epochBody("u", 3, 1, 1, 0), "partition": epochBody("t", 4, 1, 1, 0), "cut off": epochBody("t", 3, 1, 1, 0)[:20]} {
		if _, _, err := parseEpochEnd(body, "t", 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := parseEpochEnd(epochBody("t", 3, -1, -1, 6), "t", 3); err == nil || !retriable(err) {
		t.Errorf("not the leader: %v", err)
	}
}
