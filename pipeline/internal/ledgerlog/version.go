package ledgerlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// CheckVersions refuses a ledger whose newest delta or snapshot in a partition another version of
// this program wrote: no run goes on from what it cannot read, and what it would write meanwhile
// keeps that version out. It is for what is about to begin; a topic or partition that is missing is
// for others to refuse. Errors: schemas.ErrVersion with deployment.ErrLogFault, or what the broker
// said.
func CheckVersions(ctx context.Context, client *kafkalog.Client, topic string, shards int) error {
	for shard := range int32(shards) {
		err := checkVersions(ctx, client, topic, shard)
		if errors.Is(err, kafkalog.ErrUnknownTopic) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading topic %s, partition %d: %w", topic, shard, err)
		}
	}
	return nil
}

// checkVersions reads a partition backwards until it has found the first part of a delta and of a
// snapshot, which alone say their versions.
func checkVersions(ctx context.Context, client *kafkalog.Client, topic string, shard int32) error {
	bounds, err := client.Offsets(ctx, topic, shard)
	missing := map[schemas.Kind]bool{schemas.KindDeltaPart: true, schemas.KindSnapshotPart: true}
	for to, atOnce := bounds.LastStable, int64(8); err == nil && len(missing) > 0 && to > bounds.Start; atOnce *= 2 {
		from, before := max(bounds.Start, to-atOnce), int64(0)
		err = client.ReadRange(ctx, topic, shard, from, to, func(r kafkalog.Record) error {
			key, err := schemas.CheckLedgerVersion(r.Key, r.Value)
			var other *schemas.MalformedError
			if errors.As(err, &other) {
				return fmt.Errorf("offset %d: %w; %s: %w", r.Offset, err, other.Remedy(), deployment.ErrLogFault)
			}
			if r.Offset == from {
				before = int64(key.Part)
			}
			if key.Part == 0 {
				delete(missing, key.Kind)
			}
			return err
		})
		// The parts of a snapshot of many accounts, which were appended one after the other, are
		// not all read.
		to = max(bounds.Start, from-max(0, before-1))
	}
	return err
}
