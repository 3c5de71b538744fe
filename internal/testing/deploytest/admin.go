package deploytest

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const adminPatience = time.Minute

// DeleteTopic deletes a topic.
func DeleteTopic(t testing.TB, broker, name string) {
	t.Helper()
	request, topic := kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(name)
	request.TopicNames, request.Topics = []string{name}, append(request.Topics, topic)
	response := Ask(t, broker, request.RequestWith)
	if err := kerr.ErrorForCode(response.Topics[0].ErrorCode); err != nil {
		t.Fatalf("deleting topic %s: %v", name, err)
	}
}

// DeleteRecords deletes the records of a partition before an offset, as retention does. Offset -1
// means all records.
func DeleteRecords(t testing.TB, broker, name string, partition int32, before int64) {
	t.Helper()
	request, topic := kmsg.NewPtrDeleteRecordsRequest(), kmsg.NewDeleteRecordsRequestTopic()
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	topic.Topic, part.Partition, part.Offset = name, partition, before
	topic.Partitions = append(topic.Partitions, part)
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 5000
	response := Ask(t, broker, request.RequestWith)
	if err := kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatalf("deleting records of topic %s: %v", name, err)
	}
}

// Ask sends a request that the product's own client never sends, and returns the response.
func Ask[T any](t testing.TB, broker string, request func(context.Context, kmsg.Requestor) (T, error)) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	response, err := request(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	return response
}
