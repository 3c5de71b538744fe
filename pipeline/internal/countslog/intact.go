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

// CheckIntact returns deployment.ErrLogFault if topics disagree with control, because one was
// restored from an older copy, recreated, or copied with other offsets. Every shard writes to the
// ledger in every turn, SETTLED records contain the ends of counts, and the turns topic contains
// only turns that control has settled.
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
// the offset want, which it had reached when the turn settled was settled: offsets only grow, even
// if compaction or retention removes records.
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

// checkSameOffsets returns an error if a partition of counts contains a value of a later turn
// between start and end, where the settled turn ended: the search for published values of the open
// turn begins at end, so the run would publish such a value a second time.
func checkSameOffsets(ctx context.Context, client *kafkalog.Client, topic string, partition int32, start, end int64,
	settled uint64) error {
	const atOnce = 256
	var newest uint64 // 0 if retention has left no value
	for to := end; to > start && newest == 0; to -= atOnce {
		err := EachValue(ctx, client.NewRangeReader(topic, partition), max(start, to-atOnce), to, IgnoreForeign,
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

// newestEnds is the number of records read from the end of the turns topic, in case foreign records
// follow the newest end.
const newestEnds = 64

// checkControlIsNewest returns an error if the control topic is older than the turns topic: a run
// writes the end of a turn only after its SETTLED. Otherwise published turns would be decided
// again, and released a second time with other noise. It ignores ends that this deployment cannot
// have written.
func checkControlIsNewest(ctx context.Context, client *kafkalog.Client, control *controllog.Log) error {
	h := control.Header
	topic := h.Topics.Turns
	bounds, err := client.Offsets(ctx, topic, 0)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return nil // package topicrules reports that
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
