package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fence ends the writing of every older producer of the transactional id in the partition, and
// returns the offset at which it does: what they have written stands before it, and the broker
// refuses whatever comes from them after it. For a producer with a transactional id, before its
// first append; from then on appends repeat it now and then (renewAfter).
//
// It commits an empty transaction, whose marker makes the partition's leader forget older epochs,
// and reads the log until it finds the marker: a commit is acknowledged before its markers stand,
// and an older producer may write in between. It commits another one where none comes. The marker
// takes an offset and is no record: no reader sees it.
//
// Errors: ErrFenced if a newer producer has taken the id, or the coordinator has forgotten it;
// ErrSequence where the log ends before the producer's records, or its marker is gone; what the
// broker said, and what is tried again for Config.RetryFor.
func (p *Producer) Fence(ctx context.Context) (offset int64, err error) {
	doing := fmt.Sprintf("fencing topic %q partition %d", p.topic, p.partition)
	began := time.Now().Round(0)
	at, found := p.next, false
	for !found {
		for _, step := range []func(context.Context) error{p.joinTransaction, p.commitTransaction} {
			if err := p.c.persist(ctx, doing, func() error { return step(ctx) }); err != nil {
				return -1, err
			}
		}
		again := time.Now().Add(markerAgain)
		for wait := 0; !found && time.Now().Before(again); wait++ {
			err := p.c.persist(ctx, doing, func() error {
				at, found, err = p.marker(ctx, at)
				return err
			})
			if err != nil {
				return -1, err
			}
			if !found {
				if err := sleep(ctx, min(time.Millisecond<<min(wait, 6), markerPause)); err != nil {
					return -1, fmt.Errorf("%s: waiting for its marker: %w", doing, err)
				}
			}
		}
	}
	p.next, p.fenced = at+1, began
	return at, nil
}

// markerPause is the longest pause between two looks for a marker, which mostly stands within a
// few milliseconds.
const markerPause = 50 * time.Millisecond

// markerAgain is how long a marker is waited for before the transaction is committed again. It was
// seen twice, with one broker that was stopped while a run took its partitions, that a commit was
// acknowledged and no marker came for minutes after the broker was back, until the transactional id
// was used again. A coordinator also leaves out the marker of a partition whose leader it does not
// know (Kafka's TransactionMarkerChannelManager).
const markerAgain = 2 * time.Second

// joinTransaction adds the partition to the producer's transaction, and so begins it.
func (p *Producer) joinTransaction(ctx context.Context) error {
	addr, err := p.c.coordinator(ctx, p.topic, p.txn)
	if err != nil {
		return err
	}
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = p.topic, []int32{p.partition}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.txn, p.id, p.epoch
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(ctx, p.c.broker(addr))
	if err != nil {
		return err
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return fmt.Errorf("reading who is in a transaction: %w", ErrCorrupt)
	}
	return p.c.allowed(transactionError(res.Topics[0].Partitions[0].ErrorCode), Write, p.topic, p.txn)
}

// commitTransaction commits the producer's transaction; a second time changes nothing.
func (p *Producer) commitTransaction(ctx context.Context) error {
	addr, err := p.c.coordinator(ctx, p.topic, p.txn)
	if err != nil {
		return err
	}
	// The version is below 5 (setVersion): the commit leaves the producer its epoch, where from
	// version 5 on it would get another one for every transaction (KIP-890).
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.txn, p.id, p.epoch, true
	res, err := req.RequestWith(ctx, p.c.broker(addr))
	if err != nil {
		return err
	}
	return p.c.allowed(transactionError(res.ErrorCode), Write, p.topic, p.txn)
}

// transactionError returns the error of a code in a coordinator's answer. A transaction that the
// coordinator does not know any more was aborted because it lasted too long, or by a newer
// producer.
func transactionError(code int16) error {
	switch kafka.Error(code) {
	case kafka.InvalidProducerEpoch, kafka.ProducerFenced, kafka.InvalidTransactionState, kafka.InvalidProducerIDMapping:
		return &finalError{fmt.Errorf("%w (error %d)", ErrFenced, code)}
	}
	return codeError(code)
}

// marker looks for the marker of the producer's transaction from an offset on, and returns where it
// stands, or where to look again.
func (p *Producer) marker(ctx context.Context, from int64) (at int64, found bool, err error) {
	next, err := p.eachBatch(ctx, from, func(b *batch) (err error) {
		if b.ProducerID != p.id || b.FirstOffset < from {
			return nil
		}
		if found, err = p.isMarker(b); found {
			at, err = b.FirstOffset, StopReading
		}
		return err
	})
	switch {
	case errors.Is(err, ErrSequence):
		return from, false, &finalError{err}
	case err != nil:
		return from, false, err
	case found:
		return at, true, nil
	}
	return next, false, nil
}

// isMarker says whether a batch with this producer's id is the marker of its commit. Errors:
// ErrFenced if a newer producer has written it, or has ended this one's transaction.
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
