package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Producer appends records to one partition. Every in-sync replica has acknowledged them, each
// batch exactly once. Except for Close, a Producer is not safe for concurrent use.
type Producer struct {
	// AppendTime is the broker's append time of the last batch in Unix milliseconds. It is −1 if
	// the topic has no append times or the broker has not returned one.
	AppendTime int64

	c         *Client
	topic     string
	partition int32
	txn       string

	id       int64
	epoch    int16
	sequence int32     // sequence number of the next record
	next     int64     // all unacknowledged batches of this producer are at or after it
	failed   error     // set once a batch has an unknown outcome, or the identity is lost
	fenced   time.Time // when the last Fence began, by the wall clock; zero: never
	buf      []byte

	life context.Context // ends with Close, or with the client's life
	end  context.CancelFunc
}

// NewProducer returns a Producer with a producer id and epoch for a partition. With a transactional
// id it raises the epoch of that id. Without one (""), the producer is only idempotent. The batches
// belong to no transaction: readers see them at once.
func (c *Client) NewProducer(ctx context.Context, topic string, partition int32,
	transactionalID string) (*Producer, error) {
	p := &Producer{c: c, topic: topic, partition: partition, txn: transactionalID}
	p.life, p.end = context.WithCancel(c.life)
	doing := fmt.Sprintf("requesting a producer id for topic %q partition %d", topic, partition)
	err := c.persist(ctx, doing, func() error {
		var err error
		p.id, p.epoch, err = c.initProducer(ctx, transactionalID)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.next, err = c.listOffset(ctx, topic, partition, latestTime, readUncommitted)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Identity returns the producer id and the epoch.
func (p *Producer) Identity() (id int64, epoch int16) { return p.id, p.epoch }

// End returns the offset after the producer's last acknowledged record, or after its fence.
func (p *Producer) End() int64 { return p.next }

// Close closes the producer. An Append in progress fails with an unknown outcome.
func (p *Producer) Close() { p.end() }

// Append is AppendOffsets, but returns only the offset of the first message.
func (p *Producer) Append(ctx context.Context, msgs []Message) (base int64, err error) {
	offsets, err := p.AppendOffsets(ctx, msgs)
	if len(offsets) == 0 {
		return -1, err
	}
	return offsets[0], err
}

// AppendOffsets appends msgs in order, in batches of Config.MaxBatchBytes, and returns their
// offsets. With an error, these are the offsets of the leading messages that were acknowledged.
//
// After a refusal, the log contains nothing after the acknowledged messages. ErrFenced and
// ErrSequence are final. After any other error the outcome of one batch is unknown, and further
// appends return ErrUnknownOutcome: other bytes with the same sequence could be lost.
func (p *Producer) AppendOffsets(ctx context.Context, msgs []Message) ([]int64, error) {
	if p.failed != nil {
		return nil, p.failed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(ErrClosed) })()
	if p.life.Err() != nil {
		return nil, p.wrap(ErrClosed)
	}
	if err := p.renew(ctx); err != nil {
		return nil, p.wrap(err)
	}
	limit := p.c.cfg.MaxBatchBytes
	for i := range msgs {
		if batchHeader+maxRecordSize(&msgs[i]) > limit {
			return nil, p.wrap(fmt.Errorf("%w: message %d, limit %d bytes (MaxBatchBytes)", ErrTooLarge, i, limit))
		}
	}
	offsets := make([]int64, 0, len(msgs))
	for len(msgs) > 0 {
		n := splitBatch(msgs, limit)
		base, err := p.appendBatch(ctx, msgs[:n])
		if err != nil {
			return offsets, err
		}
		for i := range n {
			offsets = append(offsets, base+int64(i))
		}
		msgs = msgs[n:]
	}
	return offsets, nil
}

// renewAfter is the maximum age of a fence at an append. It is far below any
// transactional.id.expiration.ms.
const renewAfter = time.Hour

// renew repeats an old fence. Appends do not reach the coordinator, so it forgets the transactional
// id of a producer that only appends, and the next producer would not fence this one.
func (p *Producer) renew(ctx context.Context) error {
	// The wall clock is used because the monotonic clock stops while a machine sleeps.
	age := time.Now().Round(0).Sub(p.fenced)
	if p.fenced.IsZero() || age >= 0 && age < renewAfter {
		return nil
	}
	_, err := p.Fence(ctx)
	if errors.Is(err, ErrFenced) || errors.Is(err, ErrSequence) {
		p.failed = p.wrap(err)
	}
	return err
}

func (p *Producer) doing() string {
	return fmt.Sprintf("appending to topic %q partition %d", p.topic, p.partition)
}

func (p *Producer) wrap(err error) error { return fmt.Errorf("%s: %w", p.doing(), err) }

// transactionTimeout is how long the empty transaction of a Fence may last before it is aborted.
const transactionTimeout = 60 * time.Second

func (c *Client) initProducer(ctx context.Context, transactionalID string) (id int64, epoch int16, err error) {
	req := &initproducerid.Request{TransactionalID: transactionalID,
		TransactionTimeoutMs: int32(transactionTimeout.Milliseconds())}
	broker := c.anyBroker()
	if transactionalID != "" {
		broker = c.coordinator(transactionalID)
	}
	res := kmsg.NewPtrInitProducerIDResponse()
	if err := broker(ctx, req, res); err != nil {
		return -1, -1, err
	}
	return res.ProducerID, res.ProducerEpoch, codeError(res.ErrorCode)
}

func (c *Client) coordinator(transactionalID string) requestor {
	return func(ctx context.Context, req protocol.Message, res any) error {
		coordinator := kmsg.NewPtrFindCoordinatorResponse()
		lookup := &findcoordinator.Request{Key: transactionalID, KeyType: int8(kafka.CoordinatorKeyTypeTransaction)}
		err := c.anyBroker()(ctx, lookup, coordinator)
		if err == nil {
			err = codeError(coordinator.ErrorCode)
		}
		if err != nil {
			return err
		}
		return c.broker(net.JoinHostPort(coordinator.Host, strconv.Itoa(int(coordinator.Port))))(ctx, req, res)
	}
}
