package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// readReleasesTo reads a counts partition from what the settled turn's
// SETTLED says about it up to, not including, an offset. Values of settled turns
// may be gone; whatever stood behind them belongs to the open turn, and the values
// that are drawn again can be compared only with what is still there.
func readReleasesTo(ctx context.Context, client *klog.Client, d *Deployment, t *tail, shard int, settled uint64, to int64, fn func(r schemas.Release, key, value []byte) error) error {
	topic := d.cfg.Outputs.Counts
	bounds, err := client.Offsets(ctx, topic, int32(shard))
	if err != nil {
		return fmt.Errorf("reading counts: %w", err)
	}
	from := bounds.Start
	t.look(func(v *view) {
		if ends := v.countsEnd[settled]; shard < len(ends) {
			from = ends[shard]
		}
	})
	if from < bounds.Start {
		return &goneError{topic: topic, shard: shard, turn: settled + 1, from: from, start: bounds.Start}
	}
	return eachRelease(ctx, client, topic, int32(shard), from, to, t.stray, fn)
}

// goneError says that records of counts are gone which belong to a turn that is not
// settled, if it has published any.
type goneError struct {
	topic       string
	shard       int
	turn        uint64
	from, start int64
}

// Error implements error.
func (e *goneError) Error() string {
	return fmt.Sprintf("reading topic %s: partition %d begins at offset %d, and what turn %d published stood from offset %d on: records of a turn that is not settled are gone (by retention, or deleted), so that its values cannot be compared with those that are drawn again. Restore them, or, with the version of the program that was interrupted and no other, draw them again from the ledger (runner run --redraw-gone): %v",
		e.topic, e.shard, e.start, e.turn, e.from, ErrLogFault)
}

// Unwrap makes it an ErrLogFault.
func (e *goneError) Unwrap() error { return ErrLogFault }

// readReleasesOf is readReleasesTo up to the present end.
func readReleasesOf(ctx context.Context, client *klog.Client, d *Deployment, t *tail, shard int, settled uint64, fn func(r schemas.Release, key, value []byte) error) error {
	bounds, err := client.Offsets(ctx, d.cfg.Outputs.Counts, int32(shard))
	if err != nil {
		return fmt.Errorf("reading counts: %w", err)
	}
	return readReleasesTo(ctx, client, d, t, shard, settled, bounds.LastStable, fn)
}

// eachRelease calls fn for every value between two offsets, and stray for what says
// that it is one and is not: a value of ours that was damaged is drawn again, the same.
func eachRelease(ctx context.Context, client *klog.Client, topic string, partition int32, from, to int64,
	stray func(topic string, partition int32, offset int64, what string), fn func(r schemas.Release, key, value []byte) error) error {
	err := client.ReadRange(ctx, topic, partition, from, to, func(rec klog.Record) error {
		if !isRelease(&rec) {
			return nil
		}
		rel, err := schemas.DecodeRelease(rec.Value)
		_, keyErr := schemas.DecodeReleaseKey(rec.Key)
		if err != nil && (keyErr != nil || errors.Is(err, schemas.ErrMalformed)) {
			stray(topic, partition, rec.Offset, notOurs)
			return nil
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w: another version of this program wrote it: use that version, and drain it before you use this one", rec.Offset, err)
		}
		return fn(rel, rec.Key, rec.Value)
	})
	if err != nil {
		return fmt.Errorf("reading topic %s, partition %d: %w", topic, partition, err)
	}
	return nil
}

func unsaid(string, int32, int64, string) {}

func isRelease(r *klog.Record) bool { return typeOf(r) == schemas.TypeRelease }

// typeOf is what a record of counts says that it is.
func typeOf(r *klog.Record) string {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderType {
			return string(h.Value)
		}
	}
	return ""
}

// ReadReleases returns everything on the counts topic, in the order of its
// partitions.
func ReadReleases(ctx context.Context, d *Deployment) ([]schemas.Release, error) {
	client, err := d.dial(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var all []schemas.Release
	for shard := range d.cfg.ReleaseShards {
		bounds, err := client.Offsets(ctx, d.cfg.Outputs.Counts, int32(shard))
		if err != nil {
			return nil, fmt.Errorf("reading counts: %w", err)
		}
		err = eachRelease(ctx, client, d.cfg.Outputs.Counts, int32(shard), bounds.Start, bounds.LastStable, unsaid, func(r schemas.Release, _, _ []byte) error {
			all = append(all, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
