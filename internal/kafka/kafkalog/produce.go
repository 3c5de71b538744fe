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
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"
)

// acksAll asks that every in-sync replica has the records.
const acksAll = -1

// refusal is an answer that says that the batch was not written.
type refusal struct{ err error }

func (e *refusal) Error() string { return e.err.Error() }
func (e *refusal) Unwrap() error { return e.err }

// appendBatch writes one batch, with the same bytes as often as needed until its outcome is known.
func (p *Producer) appendBatch(ctx context.Context, msgs []Message) (int64, error) {
	p.buf = appendBatch(p.buf[:0], msgs, p.id, p.epoch, p.sequence, time.Now().UnixMilli())
	count := int32(len(msgs))
	var base int64
	sent := false // an earlier try may have been written
	start := time.Now()
	var missing absence
	call := new(trouble)
	defer p.c.health.over(call)
	for n := 0; ; n++ {
		err := ctx.Err()
		if err == nil {
			base, err = p.try(ctx, count, &sent)
		}
		if err == nil {
			break
		}
		var no *refusal
		switch {
		case missing.lasts(err, unknownGrace):
			err = ErrUnknownTopic
		case errors.As(err, &no) && !sent:
			return -1, no.err
		case errors.Is(err, ErrFenced), errors.Is(err, ErrSequence), errors.Is(err, ErrClosed):
			p.failed = err
			return -1, err
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case time.Since(start) > p.c.cfg.RetryFor:
			err = fmt.Errorf("giving up after %s: %w", p.c.cfg.RetryFor, err)
		case retriable(err) && !errors.As(err, &no):
			p.c.health.note(call, start, fmt.Sprintf("appending to topic %q partition %d", p.topic, p.partition), err)
			if err = sleep(ctx, pause(n)); err == nil {
				continue
			}
		}
		if sent {
			p.failed = ErrUnknownOutcome
		}
		return -1, err
	}
	// Sequences count from 0 to 2³¹−1 and begin again.
	p.sequence = int32((uint32(p.sequence) + uint32(count)) & 0x7fffffff)
	p.next = base + int64(count)
	p.c.health.wrote(p.topic)
	return base, nil
}

// try sends the batch once and interprets the answer. sent is set as soon as bytes may have reached
// a broker, and cleared by an answer that proves that they changed nothing.
func (p *Producer) try(ctx context.Context, count int32, sent *bool) (int64, error) {
	_, addr, err := p.c.leaderOf(ctx, p.topic, p.partition)
	if err != nil {
		p.c.forget(p.topic)
		return -1, err
	}
	if *sent {
		// A broker that was restarted may not know the producer any more: look before sending
		// again.
		if base, found, err := p.find(ctx, count); err != nil || found {
			return base, err
		}
	}
	before := *sent
	*sent = true
	base, code, err := p.send(ctx, addr)
	if err != nil {
		// No connection was made: nothing was sent.
		*sent = before || !errors.As(err, new(*stageError))
		p.c.forget(p.topic)
		return -1, err
	}
	switch kafka.Error(code) {
	case 0:
		return base, nil
	case kafka.InvalidProducerEpoch, kafka.ProducerFenced, kafka.InvalidTransactionState:
		// The last: a newer producer is in the middle of its fence (the embedded broker says so;
		// our own transaction is over before the first append).
		return -1, fmt.Errorf("%w (error %d)", ErrFenced, code)
	case kafka.OutOfOrderSequenceNumber, kafka.DuplicateSequenceNumber, kafka.UnknownProducerId:
		base, found, err := p.find(ctx, count)
		if err == nil && !found {
			err = fmt.Errorf("%w (error %d)", ErrSequence, code)
		}
		return base, err
	case kafka.RequestTimedOut, kafka.NotEnoughReplicasAfterAppend, kafka.KafkaStorageError, kafka.Unknown, kafka.NetworkException:
		return -1, kafka.Error(code) // perhaps written
	}
	*sent = before
	if retriableCode(kafka.Error(code)) {
		p.c.forget(p.topic) // the leader has moved, or is about to
		return -1, kafka.Error(code)
	}
	if kafka.Error(code) == kafka.MessageSizeTooLarge || kafka.Error(code) == kafka.RecordListTooLarge {
		return -1, &refusal{fmt.Errorf("%w: the topic's max.message.bytes is below the batch of %d bytes", ErrTooLarge, len(p.buf))}
	}
	return -1, &refusal{denied(codeError(code), Write, p.topic, p.txn)}
}

// appendRequest is a produce request without the bytes of its one batch, which follow it:
// kafka-go would copy them into pages of its own.
type appendRequest struct {
	*rawproduce.Request
	batch []byte
}

// send writes the encoded batch and returns the base offset or the error code that came back.
func (p *Producer) send(ctx context.Context, addr string) (base int64, code int16, err error) {
	size := binary.BigEndian.AppendUint32(nil, uint32(len(p.buf)))
	req := &rawproduce.Request{Acks: acksAll, Timeout: int32(requestTimeout.Milliseconds()), Topics: []rawproduce.RequestTopic{{
		Topic: p.topic, Partitions: []rawproduce.RequestPartition{{Partition: p.partition, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(size)}}},
	}}}
	res := new(produce.Response)
	if err := p.c.send(ctx, p.c.transport, addr, appendRequest{req, p.buf}, res, requestTimeout+10*time.Second, freshBytes); err != nil {
		return -1, 0, err
	}
	if base, code, err = produced(res); err == nil {
		p.AppendTime = res.Topics[0].Partitions[0].LogAppendTime
	}
	return base, code, err
}

// produced returns the answer for one partition from a response.
func produced(res *produce.Response) (base int64, code int16, err error) {
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return -1, 0, fmt.Errorf("reading a produce response: %w", ErrCorrupt)
	}
	at := res.Topics[0].Partitions[0]
	if at.ErrorCode == 0 && at.BaseOffset < 0 {
		return -1, 0, fmt.Errorf("reading a produce response: %w", ErrCorrupt)
	}
	return at.BaseOffset, at.ErrorCode, nil
}

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
	res := new(fetchResponse)
	err = p.c.broker(addr)(ctx, fetchRequest(from, 1, 100*time.Millisecond, readUncommitted), res)
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
	if err := denied(codeError(part.ErrorCode), Read, p.topic, ""); err != nil {
		if isCode(err, kafka.OffsetOutOfRange) {
			return nil, ErrSequence // the log ends before the acknowledged records, or starts after them
		}
		return nil, err
	}
	return part.Records, nil
}
