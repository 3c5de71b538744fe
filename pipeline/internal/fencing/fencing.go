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

// Fence acquires partitions of ledger and counts: the stage that receives the first element of an
// epoch for a partition makes a producer with the partition's transactional id, and waits for the
// marker after which the broker refuses every older producer. Safe for concurrent use.
type Fence struct {
	Client  *kafkalog.Client
	Control *controllog.Log // source of the newest epoch
	Prefix  string          // transactional ids are the prefix and the partition: LedgerIDs or CountsIDs
	Topic   string          // the topic whose partitions are taken
}

// LedgerIDs returns how the transactional ids of a deployment's ledger begin.
func LedgerIDs(d *deployment.Deployment) string { return d.Config.Deployment + "/ledger-" }

// CountsIDs returns how the transactional ids of a deployment's counts begin.
func CountsIDs(d *deployment.Deployment) string { return d.Config.Deployment + "/counts-" }

// takeTries is how often the newest run takes a partition that an older one,
// late in its own taking, has snatched from it.
const takeTries = 5

// AcquirePartition returns the partition's new producer, which the caller closes, and the offset of
// its fence: records of older producers are below it, and no record is at it.
// accounts.ErrSuperseded reports that epoch, the offset of an EPOCH, is not the newest. An older
// run that was still the newest when it asked can raise the producer's epoch over ours; it finds
// that out itself and drops its element, and we acquire the partition again.
func (f *Fence) AcquirePartition(ctx context.Context, partition int, epoch int64) (*kafkalog.Producer, int64, error) {
	for try := 1; ; try++ {
		p, offset, err := f.tryAcquire(ctx, partition, epoch)
		if !errors.Is(err, kafkalog.ErrFenced) || try == takeTries {
			return p, offset, AsSuperseded(err)
		}
	}
}

// tryAcquire asks whether epoch is the newest before and after the producer's
// epoch is raised: the newest must win.
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
		return nil, 0, fmt.Errorf("taking partition %d of %s: %w", partition, f.Topic, err)
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

// AsSuperseded adds accounts.ErrSuperseded to an error of a producer that was fenced, or closed
// because a newer epoch of this process has taken its partition. It returns any other error, and
// nil, unchanged.
func AsSuperseded(err error) error {
	if errors.Is(err, kafkalog.ErrFenced) || errors.Is(err, kafkalog.ErrClosed) {
		return fmt.Errorf("%w: %w", accounts.ErrSuperseded, err)
	}
	return err
}

// Background starts fn in a goroutine and returns a function that waits for it and
// returns its error, or ctx's when that ends first. That function may be called several
// times, from any goroutine.
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
