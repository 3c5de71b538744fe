package countslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// readOpenTurn returns the offsets between which a counts partition may hold values of turns after
// the settled one. Values of settled turns may be gone; whatever followed them belongs to the open
// turn, and redrawn values can be compared only with records that still exist. A topic of counts is
// empty when a deployment begins.
func readOpenTurn(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, control *controllog.Log,
	shard int, settled uint64) (from, end int64, err error) {
	topic := d.Config.Outputs.Counts
	bounds, err := client.Offsets(ctx, topic, int32(shard))
	if err != nil {
		return 0, 0, fmt.Errorf("reading counts: %w", err)
	}
	if settled > 0 {
		from = bounds.Start
	}
	control.WithView(func(v *controllog.View) {
		if ends := v.CountsEnd[settled]; shard < len(ends) {
			from = ends[shard]
		}
	})
	if from < bounds.Start {
		return 0, 0, fmt.Errorf("reading topic %s: partition %d begins at offset %d, but turn %d, which is not "+
			"settled, published from offset %d on: retention or a deletion has removed these records. Restore them, "+
			"or begin a new deployment with new keys: %w", topic, shard, bounds.Start, settled+1, from,
			deployment.ErrLogFault)
	}
	return from, bounds.LastStable, nil
}

// ReadTo calls fn for every value of a counts partition after the settled turn up to, not
// including, the offset to, with the record's key and value. It reports foreign records to control.
// Errors: deployment.ErrLogFault if such values are gone, the error of fn, or the broker's.
func ReadTo(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, control *controllog.Log, shard int,
	settled uint64, to int64, fn func(r schemas.Release, key, value []byte) error) error {
	from, _, err := readOpenTurn(ctx, client, d, control, shard, settled)
	if err != nil {
		return err
	}
	return EachValue(ctx, client.NewRangeReader(d.Config.Outputs.Counts, int32(shard)), from, to,
		control.ReportForeign, fn)
}

// PublishedAfter reports whether counts holds a value of a turn after the settled one. Such a turn
// can have no more than values: its end is written once it is settled. It returns the errors of
// ReadTo.
func PublishedAfter(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, control *controllog.Log,
	settled uint64) (found bool, err error) {
	for shard := 0; shard < d.Config.ReleaseShards && !found && err == nil; shard++ {
		var from, to int64
		if from, to, err = readOpenTurn(ctx, client, d, control, shard, settled); err != nil {
			return false, err
		}
		err = EachValue(ctx, client.NewRangeReader(d.Config.Outputs.Counts, int32(shard)), from, to,
			control.ReportForeign, func(r schemas.Release, _, _ []byte) error {
				found = found || r.Turn > settled
				return nil
			})
	}
	return found, err
}

// OnForeign is called with foreign records, as controllog.Log.ReportForeign is.
type OnForeign func(topic string, partition int32, offset int64, what string)

// EachValue calls fn for every value of a partition at or after the offset from and before the
// offset to, with the record's key and value, and foreign for skipped records. It returns an error
// for a value of another version of this program, the error of fn, or the broker's.
func EachValue(ctx context.Context, partition *kafkalog.RangeReader, from, to int64, foreign OnForeign,
	fn func(r schemas.Release, key, value []byte) error) error {
	err := partition.Read(ctx, from, to, func(rec kafkalog.Record) error {
		rel, ok, err := valueOf(partition.Topic, &rec, foreign)
		if err != nil || !ok {
			return err
		}
		return fn(rel, rec.Key, rec.Value)
	})
	if err != nil {
		return fmt.Errorf("reading topic %s, partition %d: %w", partition.Topic, partition.Partition, err)
	}
	return nil
}

// valueOf decodes a record that is a value; ok is false for any other. A record with the type of a
// value but other contents is skipped: a damaged value of ours is drawn again, with the same
// result.
func valueOf(topic string, rec *kafkalog.Record, foreign OnForeign) (rel schemas.Release, ok bool, err error) {
	if TypeOf(rec) != schemas.TypeRelease {
		return rel, false, nil
	}
	rel, err = schemas.DecodeRelease(rec.Value)
	_, keyErr := schemas.DecodeReleaseKey(rec.Key)
	switch {
	case err == nil:
		return rel, true, nil
	case keyErr != nil || errors.Is(err, schemas.ErrMalformed):
		foreign(topic, rec.Partition, rec.Offset, controllog.NotOurs)
		return rel, false, nil
	}
	return rel, false, fmt.Errorf("offset %d: %w: another version of Tollgate wrote it, or another program in its "+
		"name: use that version, and drain it before you use this one", rec.Offset, err)
}

// IgnoreForeign is an OnForeign that does nothing.
func IgnoreForeign(string, int32, int64, string) {}

// TypeOf returns the type that a record of counts declares, schemas.TypeRelease for example; "" if
// it declares none.
func TypeOf(r *kafkalog.Record) string {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderType {
			return string(h.Value)
		}
	}
	return ""
}
