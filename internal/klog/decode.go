package klog

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
