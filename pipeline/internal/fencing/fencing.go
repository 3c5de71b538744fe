package fencing

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Fence acquires partitions of the ledger or of counts. A stage acquires a partition when it
// receives the partition's first element of an epoch. A Fence is safe for concurrent use.
type Fence struct {
	Client  *kafkalog.Client
	Control *controllog.Log // knows the newest epoch
	Prefix  string          // LedgerIDs or CountsIDs; a transactional id is the prefix and the partition
	Topic   string          // the topic of the partitions
}

// LedgerIDs returns the prefix of the transactional ids of a deployment's ledger.
func LedgerIDs(d *deployment.Deployment) string { return d.Config.Deployment + "/ledger-" }

// CountsIDs returns the prefix of the transactional ids of a deployment's counts.
func CountsIDs(d *deployment.Deployment) string { return d.Config.Deployment + "/counts-" }

// acquireAttempts limits the attempts to acquire a partition that a late older run acquires, too.
const acquireAttempts = 5

// AcquirePartition returns a new producer for the partition, which the caller must close, and the
// offset of its fence: a marker with all records of older producers below it. It returns
// accounts.ErrSuperseded if epoch, the offset of an EPOCH, is not the newest. An older run that
// checked its epoch before ours began can still raise the producer's epoch above ours. It then
// notices that our epoch is newer and drops its element, and we acquire the partition again.
func (f *Fence) AcquirePartition(ctx context.Context, partition int, epoch int64) (*kafkalog.Producer, int64, error) {
	for try := 1; ; try++ {
		p, offset, err := f.tryAcquire(ctx, partition, epoch)
		if !errors.Is(err, kafkalog.ErrFenced) || try == acquireAttempts {
			return p, offset, AsSuperseded(err)
		}
	}
}

// tryAcquire checks that epoch is the newest before and after it raises the producer's epoch.
func (f *Fence) tryAcquire(ctx context.Context, partition int, epoch int64) (*kafkalog.Producer, int64, error) {
	newest, err := f.Control.IsNewest(ctx, epoch)
	if err != nil {
		return nil, 0, err
	}
	if !newest {
		return nil, 0, accounts.ErrSuperseded
	}
	p, err := f.Client.NewProducer(ctx, f.Topic, int32(partition), fmt.Sprintf("%s%d", f.Prefix, partition))
	if err != nil {
		return nil, 0, fmt.Errorf("acquiring partition %d of %s: %w", partition, f.Topic, err)
	}
	if newest, err = f.Control.IsNewest(ctx, epoch); err != nil || !newest {
		p.Close()
		if err == nil {
			err = accounts.ErrSuperseded
		}
		return nil, 0, err
	}
	var offset int64
	err = f.Control.At.Around(crashpoint.FenceWriting, crashpoint.FenceWritten, partition, func() error {
		var err error
		offset, err = p.Fence(ctx)
		return err
	})
	if err != nil {
		p.Close()
		return nil, 0, fmt.Errorf("fencing partition %d of %s: %w", partition, f.Topic, err)
	}
	return p, offset, nil
}

// AsSuperseded adds accounts.ErrSuperseded to the error of a producer that was fenced, or was
// closed because a newer epoch of this process has the partition. Other errors stay as they are.
func AsSuperseded(err error) error {
	if errors.Is(err, kafkalog.ErrFenced) || errors.Is(err, kafkalog.ErrClosed) {
		return fmt.Errorf("%w: %w", accounts.ErrSuperseded, err)
	}
	return err
}

// Background starts fn in a goroutine. The returned function waits for fn and returns its error, or
// the error of ctx if ctx ends first. It may be called several times, from any goroutine.
func Background(fn func() error) func(context.Context) error {
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = fn()
	}()
	return func(ctx context.Context) error {
		select {
		case <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
