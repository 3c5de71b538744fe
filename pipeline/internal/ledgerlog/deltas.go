package ledgerlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Decided reports whether a shard's partition of the ledger contains the delta of the turn after
// settled. It reads the partition without fencing its owner, and reports foreign records to
// control. SPEND writes every turn to every shard, and decides a turn only after the previous one
// is settled. So if the newest turn of the partition is not one of these two, Decided returns
// deployment.ErrLogFault.
func Decided(ctx context.Context, client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment,
	shard int32, settled uint64) (bool, error) {
	var ledger schemas.LedgerReader
	topic := d.Config.Outputs.Ledger
	if _, err := ReadOn(client, control, d, topic).Acquire(ctx, int(shard), 0, ledger.Add); err != nil {
		return false, err
	}
	deltas := ledger.DeltaTurns()
	if err := checkSameMoment(&ledger, deltas, topic, shard, settled); err != nil {
		return false, err
	}
	return slices.Contains(deltas, settled+1), nil
}

// checkSameMoment returns an error if the newest turn of a partition is neither the settled turn
// nor the next one. Then the ledger or control was restored from an older copy than the other.
func checkSameMoment(l *schemas.LedgerReader, deltas []uint64, topic string, shard int32, settled uint64) error {
	var newest uint64
	for _, s := range l.Snapshots() {
		newest = max(newest, s.Turn)
	}
	if n := len(deltas); n > 0 {
		newest = max(newest, deltas[n-1])
	}
	behind, ahead := "the ledger", "control"
	switch {
	case newest > settled+1:
		behind, ahead = ahead, behind
	case newest >= settled:
		return nil
	}
	return fmt.Errorf("comparing topic %s with control: partition %d has decided turn %d, but control has settled "+
		"turn %d: %s was restored from an older copy than %s, or has lost records. "+
		"Restore both as they were at one moment, or begin a new deployment with new keys (docs/failover.md): %w",
		topic, shard, newest, settled, behind, ahead, deployment.ErrLogFault)
}
