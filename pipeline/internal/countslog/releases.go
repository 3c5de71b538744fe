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

// openRange returns the offsets of a counts partition that may contain values of turns after
// settled. Retention may have removed settled values. It must not have removed later ones, because
// values that a run draws again are compared with them. Before the first settled turn, the range
// begins at 0, because counts is empty when a deployment begins.
func openRange(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, control *controllog.Log,
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

// ReadTo calls fn for every release in a counts partition that belongs to a turn after settled and
// lies before offset to, with the record's key and value. It reports foreign records to control.
// Errors: deployment.ErrLogFault if such releases are gone, the error of fn, or the broker's.
func ReadTo(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, control *controllog.Log, shard int,
	settled uint64, to int64, fn func(r schemas.Release, key, value []byte) error) error {
	from, _, err := openRange(ctx, client, d, control, shard, settled)
	if err != nil {
		return err
	}
	return EachValue(ctx, client.NewRangeReader(d.Config.Outputs.Counts, int32(shard)), from, to,
		control.ReportForeign, fn)
}

// PublishedAfter reports whether counts contains a value of a turn after settled. It returns the
// same errors as ReadTo.
func PublishedAfter(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, control *controllog.Log,
	settled uint64) (found bool, err error) {
	for shard := 0; shard < d.Config.ReleaseShards && !found && err == nil; shard++ {
		var from, to int64
		if from, to, err = openRange(ctx, client, d, control, shard, settled); err != nil {
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

// OnForeign is a function to call for each foreign record, such as controllog.Log.ReportForeign.
type OnForeign func(topic string, partition int32, offset int64, what string)

// EachValue calls fn for every release at the offsets [from, to) of a partition, with the record's
// key and value, and foreign for every record that claims to be a release but is not ours. It
// returns an error for a release of another version of Tollgate, the error of fn, or the broker's.
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

// valueOf decodes a release. ok is false for any other record, and for a record that is marked as a
// release but cannot be decoded: if it is a damaged one of ours, a run draws the value again, with
// the same result.
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
	return rel, false, fmt.Errorf("offset %d: %w: it was written by another version of Tollgate, or by a program that "+
		"poses as one: drain the deployment with that version before you use this one", rec.Offset, err)
}

// IgnoreForeign is an OnForeign that does nothing.
func IgnoreForeign(string, int32, int64, string) {}

// TypeOf returns the type in the header of a record of counts, such as schemas.TypeRelease, or "".
func TypeOf(r *kafkalog.Record) string {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderType {
			return string(h.Value)
		}
	}
	return ""
}
