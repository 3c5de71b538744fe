package kafkalog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// appendBatch writes one batch. It sends the same bytes again until the outcome is known.
func (p *Producer) appendBatch(ctx context.Context, msgs []Message) (int64, error) {
	p.buf = appendBatch(append(p.buf[:0], 0, 0, 0, 0), msgs, p.id, p.epoch, p.sequence, time.Now().UnixMilli())
	count := int32(len(msgs))
	base := int64(-1)
	sent := false // an earlier attempt may have been written
	var missing absence
	err := p.c.persist(ctx, p.doing(), func() (err error) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		base, err = p.try(ctx, count, &sent)
		switch {
		case missing.lasts(err, unknownGrace):
			return ErrUnknownTopic
		case errors.Is(err, ErrFenced), errors.Is(err, ErrSequence):
			return &finalError{err}
		}
		return err
	})
	if err != nil {
		switch {
		case errors.Is(err, ErrFenced), errors.Is(err, ErrSequence), errors.Is(err, ErrClosed):
			p.failed = err
		case sent:
			p.failed = p.wrap(ErrUnknownOutcome)
		}
		return -1, err
	}
	// Sequences run from 0 to 2³¹−1 and then start again.
	p.sequence = int32((uint32(p.sequence) + uint32(count)) & 0x7fffffff)
	p.next = base + int64(count)
	p.c.health.acknowledged(p.topic)
	return base, nil
}

// try sends the batch once and interprets the response. It sets sent as soon as bytes may have
// reached a broker, and clears it if a response proves that they changed nothing.
func (p *Producer) try(ctx context.Context, count int32, sent *bool) (int64, error) {
	_, addr, err := p.c.leaderOf(ctx, p.topic, p.partition)
	if err != nil {
		p.c.forget(p.topic)
		return -1, err
	}
	if *sent {
		// A restarted broker may no longer know the producer.
		if base, found, err := p.find(ctx, count); err != nil || found {
			return base, err
		}
	}
	before := *sent
	*sent = true
	base, code, err := p.send(ctx, addr)
	if err != nil {
		// Without a connection, nothing was sent.
		*sent = before || !errors.As(err, new(*stageError))
		p.c.forget(p.topic)
		return -1, err
	}
	switch kafka.Error(code) {
	case 0:
		if base < p.next {
			err = ErrSequence
		}
		return base, err
	case kafka.InvalidProducerEpoch, kafka.ProducerFenced, kafka.InvalidTransactionState:
		// InvalidTransactionState means that a newer producer is in the middle of its fence.
		return -1, fmt.Errorf("%w (error %d)", ErrFenced, code)
	case kafka.OutOfOrderSequenceNumber, kafka.DuplicateSequenceNumber, kafka.UnknownProducerId:
		base, found, err := p.find(ctx, count)
		if err == nil && !found {
			err = fmt.Errorf("%w (error %d)", ErrSequence, code)
		}
		return base, err
	case kafka.RequestTimedOut, kafka.NotEnoughReplicasAfterAppend, kafka.KafkaStorageError, kafka.Unknown,
		kafka.NetworkException:
		return -1, kafka.Error(code) // the batch may have been written
	}
	*sent = before
	if retriableCode(kafka.Error(code)) {
		p.c.forget(p.topic) // the leader has moved or is about to move
		return -1, kafka.Error(code)
	}
	if kafka.Error(code) == kafka.MessageSizeTooLarge || kafka.Error(code) == kafka.RecordListTooLarge {
		return -1, &finalError{fmt.Errorf("%w: the topic's max.message.bytes is below the batch of %d bytes",
			ErrTooLarge, len(p.buf))}
	}
	return -1, &finalError{codeError(code)}
}

func (p *Producer) send(ctx context.Context, addr string) (base int64, code int16, err error) {
	binary.BigEndian.PutUint32(p.buf, uint32(len(p.buf)-4)) // kafka-go expects the size first
	req := &rawproduce.Request{Acks: -1 /* every in-sync replica */, Timeout: int32(requestTimeout.Milliseconds()),
		Topics: []rawproduce.RequestTopic{{
			Topic: p.topic, Partitions: []rawproduce.RequestPartition{
				{Partition: p.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(p.buf)}}},
		}}}
	res := kmsg.NewPtrProduceResponse()
	if err := p.c.send(ctx, p.c.transport, addr, req, res, requestTimeout+10*time.Second, freshBytes); err != nil {
		return -1, 0, err
	}
	if base, code, err = parseProduced(res); err == nil {
		p.AppendTime = res.Topics[0].Partitions[0].LogAppendTime
	}
	return base, code, err
}

func parseProduced(res *kmsg.ProduceResponse) (base int64, code int16, err error) {
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return -1, 0, fmt.Errorf("reading a produce response: %w", ErrCorrupt)
	}
	response := res.Topics[0].Partitions[0]
	if response.ErrorCode == 0 && response.BaseOffset < 0 {
		return -1, 0, fmt.Errorf("reading a produce response: %w", ErrCorrupt)
	}
	return response.BaseOffset, response.ErrorCode, nil
}

// find looks in the log, after the last acknowledged offset, for the producer's current batch.
func (p *Producer) find(ctx context.Context, count int32) (base int64, found bool, err error) {
	base = -1
	_, err = p.eachBatch(ctx, p.next, func(b *batch) error {
		// Compaction may lower a batch's number of records, but keeps its offsets and sequence.
		if b.ProducerID == p.id && b.ProducerEpoch == p.epoch && b.FirstSequence == p.sequence &&
			b.LastOffsetDelta == count-1 && b.FirstOffset >= p.next {
			base, found = b.FirstOffset, true
			return StopReading
		}
		return nil
	})
	return base, found, err
}

// eachBatch calls fn with every batch from an offset to the end of the log, including open
// transactions, and returns the offset after these. An error from fn ends it (see StopReading).
func (p *Producer) eachBatch(ctx context.Context, offset int64, fn func(b *batch) error) (next int64, err error) {
	end, err := p.c.listOffset(ctx, p.topic, p.partition, latestTime, readUncommitted)
	if err == nil && end < offset {
		err = ErrSequence // after an unclean election: earlier records were read or acknowledged
	}
	if err != nil {
		return offset, err
	}
	for offset < end {
		raw, err := p.batches(ctx, offset)
		if err != nil {
			return offset, err
		}
		before := offset
		for b, rest, ok := nextBatch(raw); ok; b, rest, ok = nextBatch(raw) {
			if err := fn(&b); errors.Is(err, StopReading) {
				return offset, nil
			} else if err != nil {
				return offset, err
			}
			raw, offset = rest, max(offset, b.last()+1)
		}
		if offset == before {
			return offset, fmt.Errorf("looking for a batch at offset %d: %w", offset, kafka.OffsetNotAvailable)
		}
	}
	return offset, nil
}

// batches fetches the batches from an offset on, including the batches of open transactions. It
// returns ErrSequence if the offset is outside the log.
func (p *Producer) batches(ctx context.Context, offset int64) ([]byte, error) {
	_, addr, err := p.c.leaderOf(ctx, p.topic, p.partition)
	if err != nil {
		return nil, err
	}
	from := []Fetch{{Topic: p.topic, Partition: p.partition, Offset: offset, MaxBytes: 8 << 20}}
	res := kmsg.NewPtrFetchResponse()
	err = p.c.broker(addr)(ctx, fetchRequest(from, 1, 100*time.Millisecond, readUncommitted), res)
	if err == nil {
		err = codeError(res.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return nil, ErrCorrupt
	}
	part := res.Topics[0].Partitions[0]
	if err := codeError(part.ErrorCode); err != nil {
		if isCode(err, kafka.OffsetOutOfRange) {
			return nil, ErrSequence // the log ends before the acknowledged records, or starts after them
		}
		return nil, err
	}
	return part.RecordBatches, nil
}
