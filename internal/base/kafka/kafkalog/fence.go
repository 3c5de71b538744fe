package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fence stops all older producers with the transactional id from writing to the partition. It
// returns the offset after which the broker refuses them. A producer with a transactional id calls
// Fence before its first append. Later appends repeat it from time to time (renewAfter).
//
// Fence commits an empty transaction. Its marker makes the partition's leader forget older epochs.
// Fence then reads the log until it finds the marker, because a commit is acknowledged before its
// markers are written, and an older producer may write in between. The marker occupies an offset
// but is not a record.
//
// Errors: ErrFenced if a newer producer has taken the id, or the coordinator has forgotten the id;
// ErrSequence if the log ends before the producer's records, or the marker is gone.
func (p *Producer) Fence(ctx context.Context) (offset int64, err error) {
	doing := fmt.Sprintf("fencing topic %q partition %d", p.topic, p.partition)
	began := time.Now().Round(0)
	end, found := p.next, false
	for !found {
		for _, step := range []func(context.Context) error{p.joinTransaction, p.commitTransaction} {
			if err := p.c.persist(ctx, doing, func() error { return step(ctx) }); err != nil {
				return -1, err
			}
		}
		repeatAt := time.Now().Add(markerPatience)
		for wait := 0; !found && time.Now().Before(repeatAt); wait++ {
			err := p.c.persist(ctx, doing, func() error {
				end, found, err = p.marker(ctx, end)
				return err
			})
			if err != nil {
				return -1, err
			}
			if !found {
				if err := sleep(ctx, retryDelay(wait)); err != nil {
					return -1, fmt.Errorf("%s: waiting for its marker: %w", doing, err)
				}
			}
		}
	}
	p.next, p.fenced = end+1, began
	return end, nil
}

// markerPatience is how long Fence waits for a marker before it commits the transaction again. A
// coordinator skips the marker if it does not know the leader of the partition.
const markerPatience = 2 * time.Second

func (p *Producer) joinTransaction(ctx context.Context) error {
	req := &addpartitionstotxn.Request{
		TransactionalID: p.txn, ProducerID: p.id, ProducerEpoch: p.epoch,
		Topics: []addpartitionstotxn.RequestTopic{{Name: p.topic, Partitions: []int32{p.partition}}},
	}
	res := kmsg.NewPtrAddPartitionsToTxnResponse()
	if err := p.c.coordinator(p.txn)(ctx, req, res); err != nil {
		return err
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return fmt.Errorf("reading a response about a transaction: %w", ErrCorrupt)
	}
	return transactionError(res.Topics[0].Partitions[0].ErrorCode)
}

// commitTransaction commits the producer's transaction. Repeating it changes nothing.
func (p *Producer) commitTransaction(ctx context.Context) error {
	res := kmsg.NewPtrEndTxnResponse()
	req := &endtxn.Request{TransactionalID: p.txn, ProducerID: p.id, ProducerEpoch: p.epoch, Committed: true}
	if err := p.c.coordinator(p.txn)(ctx, req, res); err != nil {
		return err
	}
	return transactionError(res.ErrorCode)
}

func transactionError(code int16) error {
	switch kafka.Error(code) {
	case kafka.InvalidProducerEpoch, kafka.ProducerFenced, kafka.InvalidTransactionState,
		kafka.InvalidProducerIDMapping:
		return &finalError{fmt.Errorf("%w (error %d)", ErrFenced, code)}
	}
	return codeError(code)
}

// marker looks for the producer's marker at or after from. If found is false, the next search must
// begin at offset.
func (p *Producer) marker(ctx context.Context, from int64) (offset int64, found bool, err error) {
	next, err := p.eachBatch(ctx, from, func(b *batch) (err error) {
		if b.ProducerID != p.id || b.FirstOffset < from {
			return nil
		}
		if found, err = p.isMarker(b); found {
			offset, err = b.FirstOffset, StopReading
		}
		return err
	})
	switch {
	case errors.Is(err, ErrSequence):
		return from, false, &finalError{err}
	case err != nil:
		return from, false, err
	case found:
		return offset, true, nil
	}
	return next, false, nil
}

// isMarker reports whether a batch with this producer's id is the marker of its commit. It returns
// ErrFenced if a newer producer wrote the batch or ended this producer's transaction.
func (p *Producer) isMarker(b *batch) (bool, error) {
	kind := noMarker
	if b.Attributes&attrControl != 0 {
		kind, _ = markerKind(b, b.Records)
	}
	if b.ProducerEpoch > p.epoch || b.ProducerEpoch == p.epoch && kind == abortMarker {
		return false, &finalError{ErrFenced}
	}
	return b.ProducerEpoch == p.epoch && kind == commitMarker, nil
}
