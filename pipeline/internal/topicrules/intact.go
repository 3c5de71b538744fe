package topicrules

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
)

// Intact refuses a ledger or counts topic that lacks what control says was
// there when the last turn was settled: every shard writes to the ledger in
// every turn, and SETTLED says how far counts went. Offsets only grow, also
// where compaction or retention takes records away: a topic that is shorter
// was truncated or made anew. Errors: deployment.ErrLogFault, or what the broker said.
func Intact(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log) error {
	var settled uint64
	var ends []int64
	control.Look(func(v *controllog.View) { settled, ends = v.Settled, v.CountsEnd[v.Settled] })
	if settled == 0 {
		return nil
	}
	for shard := range d.Config.Shards {
		if err := longer(ctx, client, d.Config.Outputs.Ledger, int32(shard), 1, settled); err != nil {
			return err
		}
	}
	for shard, end := range ends {
		if err := longer(ctx, client, d.Config.Outputs.Counts, int32(shard), end, settled); err != nil {
			return err
		}
	}
	return nil
}

// longer refuses a partition that ends before the offset want, at which it ended, or
// later, when the turn settled was settled.
func longer(ctx context.Context, client *kafkalog.Client, topic string, partition int32, want int64, settled uint64) error {
	bounds, err := client.Offsets(ctx, topic, partition)
	switch {
	case err != nil:
		return fmt.Errorf("comparing topic %s with control: %w", topic, err)
	case bounds.High < want:
		return fmt.Errorf("comparing topic %s with control: partition %d ends at offset %d, and when turn %d was settled it ended at %d or later: records were lost, or the topic was made anew; restore it, or begin a new deployment: %w",
			topic, partition, bounds.High, settled, want, deployment.ErrLogFault)
	}
	return nil
}
