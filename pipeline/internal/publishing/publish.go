package publishing

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/fencing"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// publisher implements release.Publisher. It acquires partitions of counts and appends to them.
type publisher struct {
	dep  *deployment.Deployment
	grid grid
	fencing.Fence
}

func newPublisher(client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment) *publisher {
	return &publisher{
		dep: d, grid: grid{d.Config.Outputs.PublishEvery, control.Clock},
		Fence: fencing.Fence{Client: client, Control: control, Prefix: fencing.CountsIDs(d),
			Topic: d.Config.Outputs.Counts},
	}
}

// Acquire implements release.Publisher.
func (p *publisher) Acquire(ctx context.Context, shard int, epoch int64, settled uint64,
	each func(turn uint64, key, value []byte) error) (release.CountsWriter, error) {
	producer, fence, err := p.AcquirePartition(ctx, shard, epoch)
	if err != nil {
		return nil, err
	}
	err = countslog.ReadTo(ctx, p.Client, p.dep, p.Control, shard, settled, fence,
		func(r schemas.Release, key, value []byte) error {
			return each(r.Turn, key, value)
		})
	if err != nil {
		producer.Close()
		return nil, err
	}
	return &countsWriter{publisher: p, shard: shard, producer: producer}, nil
}

// countsWriter implements release.CountsWriter. It appends to an acquired partition of counts.
type countsWriter struct {
	*publisher
	shard    int
	producer *kafkalog.Producer
}

// Append implements release.CountsWriter.
func (w *countsWriter) Append(ctx context.Context, turn uint64,
	records []release.Record) func(context.Context) (int64, error) {
	msgs := make([]kafkalog.Message, len(records))
	for i := range records {
		r := &records[i]
		msgs[i] = kafkalog.Message{Key: r.Key, Value: r.Value, Timestamp: kafkalog.At(r.Release.WindowEnd),
			Headers: []kafkalog.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeRelease)}}}
	}
	var end int64
	wait := fencing.Background(func() error {
		if err := w.grid.wait(ctx, w.Client.Done()); err != nil {
			return err
		}
		err := w.Control.At.Around(crashpoint.CountsWriting, crashpoint.CountsWritten, w.shard, func() error {
			_, err := w.producer.AppendOffsets(ctx, msgs)
			end = w.producer.End()
			return err
		})
		return fencing.AsSuperseded(err)
	})
	return func(ctx context.Context) (int64, error) {
		if err := wait(ctx); err != nil {
			return 0, err
		}
		return end, nil
	}
}

// Close closes the producer of the partition. Its pending appends fail.
func (w *countsWriter) Close() error {
	w.producer.Close()
	return nil
}
