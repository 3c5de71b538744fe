package kafkalog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxFetchBytes limits a response over all its partitions, which the broker serves in the order
	// of the request.
	maxFetchBytes = 8 << 20
	// defaultMaxBytes bounds one partition's part of a response if Fetch.MaxBytes is 0.
	defaultMaxBytes = 1 << 20
)

// Fetch requests the records of one partition from Offset. MaxBytes limits the response (the first
// batch is sent whole in any case); 0 means 1 MiB.
type Fetch struct {
	Topic     string
	Partition int32
	Offset    int64
	MaxBytes  int32
}

func (f Fetch) topicPartition() topicPartition { return topicPartition{f.Topic, f.Partition} }

// Fetched is the part of a response for the partition in a Fetch.
type Fetched struct {
	Topic      string
	Partition  int32
	Records    []Record // in log order, from Fetch.Offset on; may be empty
	Next       int64    // offset of the next Fetch: after records, markers, holes and emptied batches
	High       int64    // see Offsets, as of this response
	LastStable int64
	AppendTime bool  // whether there are Records and all have the broker's append time
	Asked      int64 // Unix ms of the reader's clock just before this response's request was sent
	// Err is the reason why the partition cannot be read further: ErrOffsetOutOfRange,
	// ErrUnknownTopic, ErrCorrupt or a kafka.Error.
	Err error
}

type topicPartition struct {
	topic     string
	partition int32
}

// fetchRequest puts all fetches into one request, without a fetch session.
func fetchRequest(fetches []Fetch, minBytes int32, wait time.Duration, isolation int8) *fetch.Request {
	req := &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(min(wait.Milliseconds(), 1<<30)), MinBytes: minBytes, MaxBytes: maxFetchBytes,
		IsolationLevel: isolation, SessionEpoch: -1,
	}
	for _, one := range fetches {
		i := slices.IndexFunc(req.Topics, func(t fetch.RequestTopic) bool { return t.Topic == one.Topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, fetch.RequestTopic{Topic: one.Topic})
		}
		p := fetch.RequestPartition{Partition: one.Partition, CurrentLeaderEpoch: -1, FetchOffset: one.Offset,
			LogStartOffset: -1, PartitionMaxBytes: cmp.Or(one.MaxBytes, defaultMaxBytes)}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

// decodePartition decodes one partition of a response into the space. again is an error that fresh
// metadata resolves; fetched is then meaningless.
func decodePartition(fetch Fetch, p *kmsg.FetchResponseTopicPartition, in *space) (fetched Fetched, again error) {
	fetched = Fetched{
		Topic: fetch.Topic, Partition: fetch.Partition, Next: fetch.Offset,
		High: p.HighWatermark, LastStable: p.LastStableOffset,
	}
	if p.ErrorCode != 0 {
		code := kafka.Error(p.ErrorCode)
		switch {
		case code == kafka.OffsetOutOfRange:
			fetched.Err = fetched.fail(ErrOffsetOutOfRange)
		case retriableCode(code):
			return fetched, code
		default:
			fetched.Err = fetched.fail(codeError(p.ErrorCode))
		}
		return fetched, nil
	}
	set, ok := decodeRecordSet(fetch, p, in)
	fetched.Records, fetched.Next = set.records, set.next
	fetched.AppendTime = len(set.records) > 0 && set.appendTime
	if !ok && len(fetched.Records) == 0 {
		// The records before the damage are returned; the next fetch shows the damage alone.
		fetched.Err = fetched.fail(ErrCorrupt)
	}
	return fetched, nil
}

func (f *Fetched) fail(err error) error {
	return fmt.Errorf("reading topic %q partition %d at offset %d: %w", f.Topic, f.Partition, f.Next, err)
}

// decodeResponse matches a response with the fetches that were sent. news reports whether one of
// them has records, an error or a greater next offset; again lists the partitions to fetch again.
func decodeResponse(fetches []Fetch, res *kmsg.FetchResponse, in *space) (
	all []Fetched, news bool, again map[topicPartition]error,
) {
	in.begin(res)
	parts := make(map[topicPartition]*kmsg.FetchResponseTopicPartition, len(fetches))
	for i := range res.Topics {
		t := &res.Topics[i]
		for j := range t.Partitions {
			parts[topicPartition{t.Topic, t.Partitions[j].Partition}] = &t.Partitions[j]
		}
	}
	for _, fetch := range fetches {
		err := ErrCorrupt // the response lacks the partition
		if p := parts[fetch.topicPartition()]; p != nil {
			var fetched Fetched
			if fetched, err = decodePartition(fetch, p, in); err == nil {
				all = append(all, fetched)
				news = news || fetched.Err != nil || len(fetched.Records) > 0 || fetched.Next != fetch.Offset
				continue
			}
		}
		if again == nil {
			again = map[topicPartition]error{}
		}
		again[fetch.topicPartition()] = err
	}
	return all, news, again
}
