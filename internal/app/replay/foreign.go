package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// checkedOffsets is the number of records at the beginning of a partition, and of offsets at its
// end, that are checked. Offsets of transaction markers and compacted records hold no record.
const checkedOffsets = 8

// versionAt is the index of the version in a control record, after two letters and a kind.
const versionAt = 3

// refuseOutputs refuses a topic with a deployment's outputs at the beginning or the end of a
// partition: events would corrupt it.
func (r *Replay) refuseOutputs(ctx context.Context, partitions []int32) error {
	for _, p := range partitions {
		output, err := r.outputIn(ctx, p)
		if errors.Is(err, kafkalog.ErrForbidden) {
			return nil // the user may only write
		}
		if err != nil {
			return fmt.Errorf("reading topic %s: %w", r.options.Topic, err)
		}
		if output != "" {
			return fmt.Errorf("topic %s holds %s of a deployment, so nothing was written to it: correct events.topic "+
				"in the configuration", r.options.Topic, output)
		}
	}
	return nil
}

// outputIn returns the output that has records at the beginning or the end of a partition, or "".
func (r *Replay) outputIn(ctx context.Context, partition int32) (output string, err error) {
	topic := r.options.Topic
	bounds, err := r.client.Offsets(ctx, topic, partition)
	if err != nil {
		return "", err
	}
	start, end := bounds.Start, bounds.LastStable
	for _, from := range []int64{start, max(start, end-checkedOffsets)} {
		records := 0
		if err := r.client.ReadRange(ctx, topic, partition, from, end, func(record kafkalog.Record) error {
			output = cmp.Or(output, outputOf(record))
			if records++; records == checkedOffsets {
				return kafkalog.StopReading
			}
			return nil
		}); err != nil {
			return "", err
		}
	}
	return output, nil
}

// outputOf returns the output of a deployment that a record belongs to, or "".
func outputOf(r kafkalog.Record) string {
	has := func(header string) bool {
		return slices.ContainsFunc(r.Headers, func(h kafkalog.Header) bool { return h.Key == header })
	}
	if has(schemas.HeaderType) {
		return "the counts (outputs.counts)"
	}
	if has(schemas.DeadLetterClass) {
		return "the dead letters (outputs.dead_letter)"
	}
	if _, err := schemas.DecodeLedgerKey(r.Key); err == nil {
		return "the ledger (outputs.ledger)"
	}
	// A text may begin with the same letters, but no version follows them.
	if schemas.Ours(r.Value) && len(r.Value) > versionAt && r.Value[versionAt] < '\t' {
		return "the control log (outputs.control)"
	}
	if _, err := schemas.DecodeTurnEnd(r.Value); err == nil {
		return "the ends of turns (outputs.turns)"
	}
	return ""
}
