package kafkalog

import "testing"

func TestTheFirstTimeOfATopicIsTheLeastOfItsPartitions(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 3)
	if at, found, err := c.FirstTime(t.Context(), "t"); found || err != nil {
		t.Errorf("of an empty topic: %d, %v, %v", at, found, err)
	}
	for partition, times := range [][]int64{{7000, 1000}, {5000}} {
		p := newProducer(t, c, int32(partition), "")
		var messages []Message
		for _, at := range times {
			messages = append(messages, Message{Value: []byte("x"), Timestamp: At(at)})
		}
		if _, err := p.Append(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
	}
	if at, found, err := c.FirstTime(t.Context(), "t"); at != 5000 || !found || err != nil {
		t.Errorf("got %d, %v, %v", at, found, err)
	}
}
