package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
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
	defer p.c.cfg.health.over(call)
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
		case retriableDial(err) && !errors.As(err, &no):
			p.c.cfg.health.note(call, start, fmt.Sprintf("appending to topic %q partition %d", p.topic, p.partition), err)
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
	p.c.cfg.health.wrote(p.topic)
	return base, nil
}

// try sends the batch once and interprets the answer. sent is set as soon as bytes may have reached
// a broker, and cleared by an answer that proves that they changed nothing.
func (p *Producer) try(ctx context.Context, count int32, sent *bool) (int64, error) {
	cn, err := p.leader(ctx)
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
	base, code, err := p.send(ctx, cn)
	if err != nil {
		p.hangUp()
		p.c.forget(p.topic)
		return -1, err
	}
	switch kafka.Error(code) {
	case 0:
		return base, p.c.allowed(nil, Write, p.topic, p.txn)
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
		p.hangUp() // the leader has moved, or is about to
		p.c.forget(p.topic)
		return -1, kafka.Error(code)
	}
	if kafka.Error(code) == kafka.MessageSizeTooLarge || kafka.Error(code) == kafka.RecordListTooLarge {
		return -1, &refusal{fmt.Errorf("%w: the topic's max.message.bytes is below the batch of %d bytes", ErrTooLarge, len(p.buf))}
	}
	if err = p.c.allowed(codeError(code), Write, p.topic, p.txn); retriable(err) {
		return -1, err
	}
	return -1, &refusal{err}
}

// leader returns the connection to the partition's leader.
func (p *Producer) leader(ctx context.Context) (*conn, error) {
	_, addr, err := p.c.leaderOf(ctx, p.topic, p.partition)
	if err != nil {
		return nil, err
	}
	if p.conn != nil && (p.conn.spent() || p.conn.addr != addr) {
		p.hangUp()
	}
	if p.conn != nil {
		return p.conn, nil
	}
	cn, err := p.c.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		cn.close()
		return nil, ErrClosed
	}
	p.conn = cn
	return cn, nil
}

func (p *Producer) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.conn.close()
		p.conn = nil
	}
}

// send writes the encoded batch and returns the base offset or the error code that came back.
func (p *Producer) send(ctx context.Context, cn *conn) (base int64, code int16, err error) {
	at := kmsg.NewProduceRequestTopicPartition()
	at.Partition, at.Records = p.partition, p.buf
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = p.topic, []kmsg.ProduceRequestTopicPartition{at}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = acksAll, int32(requestTimeout.Milliseconds()), []kmsg.ProduceRequestTopic{t}
	res, err := req.RequestWith(ctx, cn.within(requestTimeout+10*time.Second))
	if err != nil {
		return -1, 0, err
	}
	if base, code, err = produced(res); err != nil {
		cn.broken = true
	} else {
		p.AppendTime = res.Topics[0].Partitions[0].LogAppendTime
	}
	return base, code, err
}

// produced returns the answer for one partition from a response.
func produced(res *kmsg.ProduceResponse) (base int64, code int16, err error) {
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return -1, 0, fmt.Errorf("reading a produce response: %w", ErrCorrupt)
	}
	at := res.Topics[0].Partitions[0]
	if at.ErrorCode == 0 && at.BaseOffset < 0 {
		return -1, 0, fmt.Errorf("reading a produce response: %w", ErrCorrupt)
	}
	return at.BaseOffset, at.ErrorCode, nil
}
