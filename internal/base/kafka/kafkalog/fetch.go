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
	// maxFetchBytes limits the size of a response across all its partitions, which the broker
	// serves in request order.
	maxFetchBytes = 8 << 20
	// defaultMaxBytes limits the part of one partition in a response if Fetch.MaxBytes is 0.
	defaultMaxBytes = 1 << 20
)

// Fetch requests the records of one partition from Offset. MaxBytes limits the size of the
// response, but the first batch is always complete; 0 means 1 MiB.
type Fetch struct {
	Topic     string
	Partition int32
	Offset    int64
	MaxBytes  int32
}

func (f Fetch) topicPartition() topicPartition { return topicPartition{f.Topic, f.Partition} }

// Fetched is the part of a response that belongs to one Fetch.
type Fetched struct {
	Topic       string
	Partition   int32
	Records     []Record // in log order, from Fetch.Offset on; may be empty
	Next        int64    // offset of the next Fetch, after all records, markers, gaps and empty batches
	High        int64    // as in Offsets, when the broker responded
	LastStable  int64
	AppendTime  bool  // there are Records, and all have the broker's append time
	RequestedAt int64 // when the request was about to be sent, by the reader's clock, in Unix ms
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
	for _, f := range fetches {
		i := slices.IndexFunc(req.Topics, func(t fetch.RequestTopic) bool { return t.Topic == f.Topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, fetch.RequestTopic{Topic: f.Topic})
		}
		p := fetch.RequestPartition{Partition: f.Partition, CurrentLeaderEpoch: -1, FetchOffset: f.Offset,
			LogStartOffset: -1, PartitionMaxBytes: cmp.Or(f.MaxBytes, defaultMaxBytes)}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

// decodePartition decodes one partition of a response into the space. A non-nil retry is an error
// that fresh metadata resolves; fetched is then meaningless.
func decodePartition(fetch Fetch, p *kmsg.FetchResponseTopicPartition, in *space) (fetched Fetched, retry error) {
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
		// Records before the damage, if any, are returned first; the next fetch reports the damage.
		fetched.Err = fetched.fail(ErrCorrupt)
	}
	return fetched, nil
}

func (f *Fetched) fail(err error) error {
	return fmt.Errorf("reading topic %q partition %d at offset %d: %w", f.Topic, f.Partition, f.Next, err)
}

// decodeResponse matches a response with the fetches sent. progress reports whether one of them has
// records, an error or a greater next offset. retry lists the partitions to fetch again.
func decodeResponse(fetches []Fetch, res *kmsg.FetchResponse, in *space) (
	all []Fetched, progress bool, retry map[topicPartition]error,
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
				progress = progress || fetched.Err != nil || len(fetched.Records) > 0 || fetched.Next != fetch.Offset
				continue
			}
		}
		if retry == nil {
			retry = map[topicPartition]error{}
		}
		retry[fetch.topicPartition()] = err
	}
	return all, progress, retry
}
