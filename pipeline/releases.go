package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// readReleasesTo reads a counts partition from what the settled turn's
// SETTLED says about it up to, not including, an offset.
func readReleasesTo(ctx context.Context, client *klog.Client, d *Deployment, t *tail, shard int, settled uint64, to int64, fn func(r schemas.Release, key, value []byte) error) error {
	from := int64(0)
	t.look(func(v *view) {
		if ends := v.countsEnd[settled]; shard < len(ends) {
			from = ends[shard]
		}
	})
	bounds, err := client.Offsets(ctx, d.cfg.Outputs.Counts, int32(shard))
	if err != nil {
		return fmt.Errorf("reading counts: %w", err)
	}
	return eachRelease(ctx, client, d.cfg.Outputs.Counts, int32(shard), max(from, bounds.Start), to, fn)
}

// readReleasesOf is readReleasesTo up to the present end.
func readReleasesOf(ctx context.Context, client *klog.Client, d *Deployment, t *tail, shard int, settled uint64, fn func(r schemas.Release, key, value []byte) error) error {
	bounds, err := client.Offsets(ctx, d.cfg.Outputs.Counts, int32(shard))
	if err != nil {
		return fmt.Errorf("reading counts: %w", err)
	}
	return readReleasesTo(ctx, client, d, t, shard, settled, bounds.LastStable, fn)
}

func eachRelease(ctx context.Context, client *klog.Client, topic string, partition int32, from, to int64, fn func(r schemas.Release, key, value []byte) error) error {
	err := client.ReadRange(ctx, topic, partition, from, to, func(rec klog.Record) error {
		if !isRelease(&rec) {
			return nil
		}
		rel, err := schemas.DecodeRelease(rec.Value)
		if err != nil {
			return fmt.Errorf("offset %d: %w", rec.Offset, err)
		}
		return fn(rel, rec.Key, rec.Value)
	})
	if err != nil {
		return fmt.Errorf("reading counts, partition %d: %w", partition, err)
	}
	return nil
}

func isRelease(r *klog.Record) bool {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderType {
			return string(h.Value) == schemas.TypeRelease
		}
	}
	return false
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
		err = eachRelease(ctx, client, d.cfg.Outputs.Counts, int32(shard), bounds.Start, bounds.LastStable, func(r schemas.Release, _, _ []byte) error {
			all = append(all, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// FollowReleases calls fn for every release on the counts topic and then for
// every new one, until ctx ends (which is no error) or fn returns one.
func FollowReleases(ctx context.Context, d *Deployment, fn func(schemas.Release) error) error {
	client, err := d.dial(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	fetcher := client.NewFetcher()
	defer fetcher.Close()
	wants := make([]klog.Want, d.cfg.ReleaseShards)
	for i := range wants {
		wants[i] = klog.Want{Topic: d.cfg.Outputs.Counts, Partition: int32(i)}
	}
	for {
		gots, err := fetcher.Poll(ctx, wants, 1, pollWait)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, context.Canceled) {
				return nil
			}
			return fmt.Errorf("following counts: %w", err)
		}
		for i := range gots {
			if err := followed(&gots[i], fn); err != nil {
				return err
			}
			wants[gots[i].Partition].Offset = gots[i].Next
		}
	}
}

func followed(g *klog.Got, fn func(schemas.Release) error) error {
	if g.Err != nil {
		return fmt.Errorf("following counts, partition %d: %w", g.Partition, g.Err)
	}
	for i := range g.Records {
		if !isRelease(&g.Records[i]) {
			continue
		}
		rel, err := schemas.DecodeRelease(g.Records[i].Value)
		if err != nil {
			return fmt.Errorf("following counts, partition %d: %w", g.Partition, err)
		}
		if err := fn(rel); err != nil {
			return err
		}
	}
	return nil
}
