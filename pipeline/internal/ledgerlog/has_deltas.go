package ledgerlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// HasDeltas says whether a shard's partition of the ledger holds the deltas of all turns
// from first to last. It reads the partition without taking it, and tells control of
// foreign records.
func HasDeltas(ctx context.Context, client *kafkalog.Client, control *controllog.Log, topic string, shard int32, first, last uint64) (bool, error) {
	bounds, err := client.Offsets(ctx, topic, shard)
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	var ledger schemas.LedgerReader
	err = client.ReadRange(ctx, topic, shard, bounds.Start, bounds.LastStable, func(rec kafkalog.Record) error {
		return Record(control, topic, &rec, ledger.Add(rec.Key, rec.Value))
	})
	if err != nil {
		return false, fmt.Errorf("reading the ledger's partition %d: %w", shard, err)
	}
	there := ledger.DeltaTurns()
	for turn := first; turn <= last; turn++ {
		if !slices.Contains(there, turn) {
			return false, nil
		}
	}
	return true, nil
}
