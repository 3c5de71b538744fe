package countslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// CheckIntact returns deployment.ErrLogFault if a topic disagrees with control, because it was
// restored from an older copy, recreated, or copied with other offsets. The check relies on three
// facts: every shard writes to the ledger in every turn, SETTLED records contain the end offsets of
// counts, and the turns topic contains only turns that control has settled.
func CheckIntact(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	control *controllog.Log) error {
	if err := checkControlIsNewest(ctx, client, control); err != nil {
		return err
	}
	var settled uint64
	var ends []int64
	control.WithView(func(v *controllog.View) { settled, ends = v.Settled, v.CountsEnd[v.Settled] })
	if settled == 0 {
		return nil
	}
	for shard := range d.Config.Shards {
		if _, err := checkLength(ctx, client, d.Config.Outputs.Ledger, int32(shard), 1, settled); err != nil {
			return err
		}
	}
	for shard, end := range ends {
		start, err := checkLength(ctx, client, d.Config.Outputs.Counts, int32(shard), end, settled)
		if err != nil {
			return err
		}
		if err := checkSameOffsets(ctx, client, d.Config.Outputs.Counts, int32(shard), start, end, settled); err !=
			nil {
			return err
		}
	}
	return nil
}

// checkLength returns the start of a partition. It returns an error if the partition ends before
// want, an offset that it had reached when turn settled was settled. Compaction and retention
// remove records, but never lower the end.
func checkLength(ctx context.Context, client *kafkalog.Client, topic string, partition int32, want int64,
	settled uint64) (start int64, err error) {
	bounds, err := client.Offsets(ctx, topic, partition)
	switch {
	case err != nil:
		return 0, fmt.Errorf("comparing topic %s with control: %w", topic, err)
	case bounds.High < want:
		return 0, fmt.Errorf("comparing topic %s with control: partition %d ends at offset %d, but when turn %d was "+
			"settled it ended at %d or later: records were lost, the topic was recreated, or a copy changed the "+
			"offsets: restore it with its offsets, or begin a new deployment with new keys: %w", topic, partition,
			bounds.High, settled, want, deployment.ErrLogFault)
	}
	return bounds.Start, nil
}

// checkSameOffsets returns an error if a partition of counts contains a value of a turn after
// settled at offsets from start up to end, which is where turn settled ended. The search for
// published values of the open turn begins at end, so the run would publish that value again.
func checkSameOffsets(ctx context.Context, client *kafkalog.Client, topic string, partition int32, start, end int64,
	settled uint64) error {
	const batch = 256
	var newest uint64 // 0 if retention has left no value
	for to := end; to > start && newest == 0; to -= batch {
		err := EachValue(ctx, client.NewRangeReader(topic, partition), max(start, to-batch), to, IgnoreForeign,
			func(r schemas.Release, _, _ []byte) error {
				newest = max(newest, r.Turn)
				return nil
			})
		if err != nil {
			return fmt.Errorf("comparing topic %s with control: %w", topic, err)
		}
	}
	if newest > settled {
		return fmt.Errorf("comparing topic %s with control: values of turn %d are in partition %d before offset %d, "+
			"where turn %d ended: a copy changed the offsets: restore it with its offsets, or begin a new deployment "+
			"with new keys: %w", topic, newest, partition, end, settled, deployment.ErrLogFault)
	}
	return nil
}

// newestEnds is how many of the last records of the turns topic are read, because foreign records
// may follow the newest end of a turn.
const newestEnds = 64

// checkControlIsNewest returns an error if the control topic is older than the turns topic, to
// which a run writes only turns that are settled. The run would decide published turns again, and
// release them a second time with other noise. The check ignores ends that this deployment cannot
// have written.
func checkControlIsNewest(ctx context.Context, client *kafkalog.Client, control *controllog.Log) error {
	h := control.Header
	topic := h.Topics.Turns
	bounds, err := client.Offsets(ctx, topic, 0)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return nil // package topicrules reports the missing topic
	}
	if err != nil {
		return fmt.Errorf("comparing topic %s with control: %w", topic, err)
	}
	turns := calendar.New(h, 0)
	var newest uint64
	err = client.ReadRange(ctx, topic, 0, max(bounds.Start, bounds.LastStable-newestEnds), bounds.LastStable,
		func(r kafkalog.Record) error {
			end, err := schemas.DecodeTurnEnd(r.Value)
			ours := end.Generation > h.Generation || // control has also lost a change
				end.Generation == h.Generation && end.Counts == h.Topics.Counts && turns.End(end.Turn) == end.End
			if err == nil && ours {
				newest = max(newest, end.Turn)
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("comparing topic %s with control: %w", topic, err)
	}
	if err := control.Update(ctx); err != nil { // a run may be active
		return err
	}
	var settled uint64
	control.WithView(func(v *controllog.View) { settled = v.Settled })
	if newest > settled {
		return fmt.Errorf("comparing topic %s with control: it says that turn %d is settled, but control has settled "+
			"turn %d: control was restored from an older copy, or copied with other offsets. "+
			"Restore control, ledger and counts from one moment after turn %d, or begin a new deployment with new "+
			"keys (docs/failover.md). If none of them was restored, was copied or has lost records, and tollgate "+
			"status names the last window that anyone has seen, or a later one, another program wrote to %s: delete "+
			"its records with kafka-delete-records.sh (docs/runbook.md: A forged end of a turn): %w",
			topic, newest, settled, newest, topic, deployment.ErrLogFault)
	}
	return nil
}
