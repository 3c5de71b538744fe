package klog

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxFetchBytes bounds one response over all its partitions.
	maxFetchBytes = 64 << 20
	// defaultMaxBytes bounds one partition's part of it where Want.MaxBytes does not.
	defaultMaxBytes = 1 << 20
)

// Want asks for the records of one partition from Offset on. MaxBytes bounds one answer (the first batch is sent
// whole in any case); 0 means 1 MiB.
type Want struct {
	Topic     string
	Partition int32
	Offset    int64
	MaxBytes  int32
}

// Got is what one answer said about a wanted partition.
type Got struct {
	Topic      string
	Partition  int32
	Records    []Record // in log order, from Want.Offset on; may be empty
	Next       int64    // the offset to ask for next: behind records, markers, holes and emptied batches
	High       int64    // see Offsets, as of this answer
	LastStable int64
	LogStart   int64
	AppendTime bool  // Records is not empty and every one of them carries the broker's append time
	Asked      int64 // unix ms of the reader's clock just before this answer's request was sent
	Err        error // ErrOffsetOutOfRange, ErrUnknownTopic, ErrCorrupt or a kafka.Error: the partition cannot be read on
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// fetchRequest asks for all wants in one request, grouped by topic. Every answer is complete in itself: there is no fetch
// session.
func fetchRequest(wants []Want, minBytes int32, wait time.Duration, isolation int8) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(min(wait.Milliseconds(), 1<<30)), minBytes, maxFetchBytes
	req.IsolationLevel = isolation
	for _, w := range wants {
		i := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == w.Topic })
		if i < 0 {
			i = len(req.Topics)
			t := kmsg.NewFetchRequestTopic()
			t.Topic = w.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = w.Partition, w.Offset, w.MaxBytes
		if p.PartitionMaxBytes <= 0 {
			p.PartitionMaxBytes = defaultMaxBytes
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

// decodePartition turns the answer for one partition into a Got. again tells that the partition's error goes away with fresh
// metadata; the Got is then void.
func decodePartition(want Want, p *kmsg.FetchResponseTopicPartition, decompressor kgo.Decompressor) (got Got, again error) {
	got = Got{
		Topic: want.Topic, Partition: want.Partition, Next: want.Offset,
		High: p.HighWatermark, LastStable: p.LastStableOffset, LogStart: p.LogStartOffset,
	}
	if p.ErrorCode != 0 {
		code := kafka.Error(p.ErrorCode)
		switch {
		case code == kafka.OffsetOutOfRange:
			got.Err = got.fail(ErrOffsetOutOfRange)
		case retriableCode(code):
			return got, code
		default:
			got.Err = got.fail(codeError(p.ErrorCode))
		}
		return got, nil
	}
	set, ok := decodeRecordSet(want, p, decompressor)
	got.Records, got.Next = set.records, set.next
	got.AppendTime = len(set.records) > 0 && set.appendTime
	if !ok && len(got.Records) == 0 {
		// What was decoded before the damage is handed out; asking again from Next shows the damage alone.
		got.Err = got.fail(ErrCorrupt)
	}
	return got, nil
}

func (g *Got) fail(err error) error {
	return fmt.Errorf("reading topic %q partition %d at offset %d: %w", g.Topic, g.Partition, g.Next, err)
}

// errVoid marks an answer that says nothing about a wanted partition.
var errVoid = errors.New("answer without the wanted partition")

// decodeAnswer matches a response with what was asked. gots holds one entry per want that was answered; news tells that one
// of them has records, an error or a next offset further on; again maps the partitions that must be asked for again
// to the reason.
func decodeAnswer(wants []Want, res *kmsg.FetchResponse, decompressor kgo.Decompressor) (gots []Got, news bool, again map[place]error) {
	parts := make(map[place]*kmsg.FetchResponseTopicPartition, len(wants))
	for i := range res.Topics {
		t := &res.Topics[i]
		for j := range t.Partitions {
			parts[place{t.Topic, t.Partitions[j].Partition}] = &t.Partitions[j]
		}
	}
	for _, w := range wants {
		at := place{w.Topic, w.Partition}
		err := errVoid
		if p := parts[at]; p != nil {
			var got Got
			if got, err = decodePartition(w, p, decompressor); err == nil {
				gots = append(gots, got)
				news = news || got.Err != nil || len(got.Records) > 0 || got.Next != w.Offset
				continue
			}
		}
		if again == nil {
			again = map[place]error{}
		}
		again[at] = err
	}
	return gots, news, again
}
