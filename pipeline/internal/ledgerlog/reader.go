package ledgerlog

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/fencing"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Reader implements accounts.LedgerStore on a ledger topic without acquiring partitions. It does
// not write, and does not disturb the run that owns the partitions.
type Reader struct {
	fence    fencing.Fence
	userHash secret.Of[[32]byte]
}

// ReadOn returns a Reader of a ledger topic.
func ReadOn(client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment, topic string) *Reader {
	return &Reader{fencing.Fence{Client: client, Control: control, Topic: topic}, d.Config.Keys.UserHash}
}

// Acquire implements accounts.LedgerStore. It only reads the partition of the shard.
func (r *Reader) Acquire(ctx context.Context, shard int, _ int64,
	each func(accounts.LedgerRecord) error) (accounts.LedgerWriter, error) {
	bounds, err := r.fence.Client.Offsets(ctx, r.fence.Topic, int32(shard))
	if err != nil {
		return nil, fmt.Errorf("reading the ledger, topic %s, partition %d: %w", r.fence.Topic, shard, err)
	}
	return discard{}, read(ctx, &r.fence, schemas.NewLedgerSeal(r.userHash.Reveal(), shard), shard, bounds.Start,
		bounds.LastStable, each)
}

// discard implements accounts.LedgerWriter.
type discard struct{}

// Append implements accounts.LedgerWriter. It drops the records.
func (discard) Append(context.Context, []accounts.LedgerRecord) func(context.Context) error {
	return func(context.Context) error { return nil }
}
