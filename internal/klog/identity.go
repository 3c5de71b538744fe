package klog

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionTimeout is required by the broker; no transaction is ever begun under the id.
const transactionTimeout = 60 * time.Second

// initProducer asks for a producer id and epoch. With a transactional id its coordinator answers, and raises the epoch.
func (c *Client) initProducer(ctx context.Context, transactionalID string) (id int64, epoch int16, err error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = int32(transactionTimeout.Milliseconds())
	at := c.anyBroker()
	if transactionalID != "" {
		req.TransactionalID = &transactionalID
		addr, err := c.coordinator(ctx, transactionalID)
		if err != nil {
			return -1, -1, err
		}
		at = c.broker(addr)
	}
	res, err := req.RequestWith(ctx, at)
	if err != nil {
		return -1, -1, err
	}
	return res.ProducerID, res.ProducerEpoch, codeError(res.ErrorCode)
}

// coordinator returns the address of the broker that keeps a transactional id.
func (c *Client) coordinator(ctx context.Context, transactionalID string) (string, error) {
	const ofTransactions = 1
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorType = transactionalID, ofTransactions
	res, err := req.RequestWith(ctx, c.anyBroker())
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(res.Host, strconv.Itoa(int(res.Port))), codeError(res.ErrorCode)
}

// find looks for the producer's current batch in the log, from the last acknowledged offset on, and returns its base
// offset. Transactions of others do not hide it.
func (p *Producer) find(ctx context.Context, count int32) (base int64, found bool, err error) {
	end, err := p.c.listOffset(ctx, p.topic, p.partition, latestTime, readUncommitted)
	if err != nil {
		return -1, false, err
	}
	for at := p.next; at < end; {
		batches, err := p.headers(ctx, at)
		if err != nil {
			return -1, false, err
		}
		if len(batches) == 0 {
			return -1, false, fmt.Errorf("looking for a batch at offset %d: %w", at, kafka.OffsetNotAvailable)
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

// headers fetches from offset at and returns what the batch headers say.
func (p *Producer) headers(ctx context.Context, at int64) ([]batchInfo, error) {
	_, addr, err := p.c.leaderOf(ctx, p.topic, p.partition)
	if err != nil {
		return nil, err
	}
	want := []Want{{Topic: p.topic, Partition: p.partition, Offset: at, MaxBytes: 8 << 20}}
	res, err := fetchRequest(want, 1, 100*time.Millisecond, readUncommitted).RequestWith(ctx, p.c.broker(addr))
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
	if err := codeError(part.ErrorCode); err != nil {
		if isCode(err, kafka.OffsetOutOfRange) {
			return nil, ErrSequence // the log ends before our acknowledged records, or starts behind them
		}
		return nil, err
	}
	return scanBatches(part.RecordBatches), nil
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
