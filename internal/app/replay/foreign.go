package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// lastOffsets is how far before its end a partition's last record is looked for: the end may be
// markers of transactions.
const lastOffsets = 8

// versionAt is where the version is in a record of this program: after two letters and a kind.
const versionAt = 3

// refuseOutputs refuses a topic whose first or last record in a partition this program has written:
// no deployment has its events there, and what a run reads there it could not make out.
func (r *Replay) refuseOutputs(ctx context.Context, partitions []int32) error {
	for _, p := range partitions {
		what, err := r.outputIn(ctx, p)
		if errors.Is(err, kafkalog.ErrForbidden) {
			return nil // a user who may only write cannot look
		}
		if err != nil {
			return fmt.Errorf("reading topic %s: %w", r.options.Topic, err)
		}
		if what != "" {
			return fmt.Errorf("topic %s holds %s of a deployment, so nothing was written to it: correct events.topic "+
				"in the configuration", r.options.Topic, what)
		}
	}
	return nil
}

// outputIn returns the deployment's output to which the first or the last record of a partition
// belongs; "" for none.
func (r *Replay) outputIn(ctx context.Context, partition int32) (what string, err error) {
	topic := r.options.Topic
	bounds, err := r.client.Offsets(ctx, topic, partition)
	if err != nil {
		return "", err
	}
	err = r.client.ReadRange(ctx, topic, partition, bounds.Start, bounds.LastStable, func(one kafkalog.Record) error {
		what = outputOf(one)
		return kafkalog.StopReading
	})
	if what != "" || err != nil {
		return what, err
	}
	from := max(bounds.Start, bounds.LastStable-lastOffsets)
	return what, r.client.ReadRange(ctx, topic, partition, from, bounds.LastStable, func(one kafkalog.Record) error {
		what = outputOf(one)
		return nil
	})
}

// outputOf returns the deployment's output that a record belongs to; "" for none.
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
	// A text may begin with the same letters; no text has the version that follows them.
	if schemas.Ours(r.Value) && len(r.Value) > versionAt && r.Value[versionAt] < '\t' {
		return "the control log (outputs.control)"
	}
	if _, err := schemas.DecodeTurnEnd(r.Value); err == nil {
		return "the ends of turns (outputs.turns)"
	}
	return ""
}
