package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// find looks for the producer's current batch in the log, from the last acknowledged offset on, and
// returns its base offset. Open transactions of other producers do not hide it.
func (p *Producer) find(ctx context.Context, count int32) (base int64, found bool, err error) {
	base = -1
	_, err = p.eachBatch(ctx, p.next, func(b *batch) error {
		// Compaction may lower a batch's count, but keeps its offsets and sequence.
		if b.ProducerID == p.id && b.ProducerEpoch == p.epoch && b.FirstSequence == p.sequence && b.LastOffsetDelta == count-1 && b.FirstOffset >= p.next {
			base, found = b.FirstOffset, true
			return StopReading
		}
		return nil
	})
	return base, found, err
}

// eachBatch calls fn with every batch from an offset to the end of the log, also of open
// transactions, and returns the offset at which the next call goes on. An error of fn ends it, and
// is returned unless it is StopReading.
func (p *Producer) eachBatch(ctx context.Context, at int64, fn func(b *batch) error) (next int64, err error) {
	end, err := p.c.listOffset(ctx, p.topic, p.partition, latestTime, readUncommitted)
	if err != nil {
		return at, err
	}
	for at < end {
		raw, err := p.batches(ctx, at)
		if err != nil {
			return at, err
		}
		before := at
		for b, rest, ok := nextBatch(raw); ok; b, rest, ok = nextBatch(raw) {
			if err := fn(&b); errors.Is(err, StopReading) {
				return at, nil
			} else if err != nil {
				return at, err
			}
			raw, at = rest, max(at, b.last()+1)
		}
		if at == before {
			return at, fmt.Errorf("looking for a batch at offset %d: %w", at, kafka.OffsetNotAvailable)
		}
	}
	return at, nil
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
