package kafkalog

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// find looks for the producer's current batch in the log, from the last acknowledged offset on, and
// returns its base offset. Open transactions of other producers do not hide it.
func (p *Producer) find(ctx context.Context, count int32) (base int64, found bool, err error) {
	end, err := p.c.listOffset(ctx, p.topic, p.partition, latestTime, readUncommitted)
	if err != nil {
		return -1, false, err
	}
	for at := p.next; at < end; {
		raw, err := p.batches(ctx, at)
		if err != nil {
			return -1, false, err
		}
		batches := scanBatches(raw)
		if len(batches) == 0 {
			return -1, false, fmt.Errorf("finding a batch at offset %d: %w", at, kafka.OffsetNotAvailable)
		}
		for _, b := range batches {
			// Compaction may lower a batch's count, but keeps its offsets and sequence.
			if b.producer == p.id && b.epoch == p.epoch && b.sequence == p.sequence && b.lastDelta == count-1 && b.base >= p.next {
				return b.base, true, nil
			}
			at = max(at, b.last()+1)
		}
	}
	return -1, false, nil
}

// batches fetches from offset at, also what belongs to open transactions. ErrSequence says that the
// log ends before at, or begins after it.
func (p *Producer) batches(ctx context.Context, at int64) ([]byte, error) {
	_, addr, err := p.c.leaderOf(ctx, p.topic, p.partition)
	if err != nil {
		return nil, err
	}
	from := []Fetch{{Topic: p.topic, Partition: p.partition, Offset: at, MaxBytes: 8 << 20}}
	res, err := fetchRequest(from, 1, 100*time.Millisecond, readUncommitted).RequestWith(ctx, p.c.broker(addr))
	if err == nil {
		err = codeError(res.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return nil, errVoid
	}
	part := res.Topics[0].Partitions[0]
	if err := p.c.allowed(codeError(part.ErrorCode), Read, p.topic, ""); err != nil {
		if isCode(err, kafka.OffsetOutOfRange) {
			return nil, ErrSequence // the log ends before the acknowledged records, or starts after them
		}
		return nil, err
	}
	return part.RecordBatches, nil
}

// scanBatches reads the headers of the whole batches in raw.
func scanBatches(raw []byte) []batchInfo {
	var list []batchInfo
	for {
		b, rest, ok := nextBatch(raw)
		if !ok {
			return list
		}
		list = append(list, b)
		raw = rest
	}
}
