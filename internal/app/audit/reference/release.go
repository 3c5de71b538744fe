package reference

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync/atomic"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// count adds up the contributions of members, which are sorted by id. A user who is admitted in two
// periods adds twice to events and sums, but only once to distinct users.
func (c *Config) count(members []*Member) map[Cell]int64 {
	counts, seen := map[Cell]int64{}, map[Cell]bool{}
	for i, m := range members {
		if i > 0 && members[i-1].Owner.ID != m.Owner.ID {
			clear(seen)
		}
		for _, part := range m.Parts {
			spec := &c.Metrics[part.Metric]
			for _, k := range part.Keys {
				cell := Cell{part.Metric, k.Key}
				if spec.Kind != "distinct_users" || !seen[cell] {
					counts[cell] += k.Count
				}
				if spec.Kind == "distinct_users" {
					seen[cell] = true
				}
				for j, extra := range c.ExtraOf(part.Metric) {
					counts[Cell{extra, k.Key}] += k.Extra[j]
				}
				if !hasTree(spec.Kind) {
					continue
				}
				nodes, steps := c.nodesOf(part.Metric), c.stepsOf(part.Metric)
				for _, v := range k.Values {
					for _, n := range steps.nodesWith(v) {
						counts[Cell{nodes, n.cell(k.Key)}]++
					}
				}
			}
		}
	}
	return counts
}

// Release refines every key of every window that ends with the turn, along the ladder of the
// metric. The contributors pay for the precision at which the refinement stopped, even if it
// stopped at the first rung because a private key did not exceed its threshold.
func (r *Replay) Release(t *Turn) error {
	counts, released := r.count(t), map[Cell]bool{}
	t.Stopped = map[Cell]units.Precision{}
	c := t.Config
	for _, i := range c.basesFirst() {
		w, ends := c.windowEnding(&c.Metrics[i], t.End)
		if !ends {
			continue
		}
		keys := c.releaseKeys(i, counts, released)
		results, errs := make([]Turn, len(keys)), make([]error, len(keys))
		var next atomic.Int64
		r.each(func(int, *people) {
			for k := next.Add(1) - 1; k < int64(len(keys)); k = next.Add(1) - 1 {
				results[k] = Turn{Number: t.Number, Config: c, Stopped: map[Cell]units.Precision{}}
				errs[k] = results[k].release(i, w, keys[k], counts)
			}
		})
		if err := cmp.Or(errs...); err != nil {
			return fmt.Errorf("releasing metric %q of turn %d: %w", c.Metrics[i].Name, t.Number, err)
		}
		for _, result := range results {
			released[result.Draws[0].Cell] = result.Draws[0].Released
			t.Draws, t.Published = append(t.Draws, result.Draws...), append(t.Published, result.Published...)
			maps.Copy(t.Stopped, result.Stopped)
		}
	}
	return nil
}

// release releases one key of one window.
func (t *Turn) release(metric int, w window, key string, counts map[Cell]int64) error {
	c, spec, cell := t.Config, t.Config.Metrics[metric], Cell{metric, key}
	stop, err := c.refine(metric, w, key, counts[cell])
	if err != nil {
		return err
	}
	t.draw(cell, counts[cell], precisionOf(stop.precision), stop.passed)
	if !stop.passed {
		return nil
	}
	drawn := []estimate{{big.NewRat(stop.value, 1024), stop.precision}}
	for _, extra := range c.ExtraOf(metric) {
		cell := Cell{extra, key}
		u := extraPrecision(spec, c.Metrics[extra], stop.precision)
		t.draw(cell, counts[cell], precisionOf(u), true)
		component, err := c.drawOnce(extra, w, key, counts[cell], u)
		if err != nil {
			return err
		}
		if c.Metrics[extra].Kind == "mean_events" {
			drawn[0] = component
			continue
		}
		drawn = append(drawn, component)
	}
	if err := t.publish(spec, w, key, c.join(metric, spec, stop, drawn)); err != nil {
		return err
	}
	statistics, nodes, err := c.statistics(metric, w, key, stop, drawn, counts)
	if err != nil {
		return err
	}
	for cell, u := range nodes {
		t.draw(cell, 0, u, true)
	}
	for i, statistic := range statistics {
		if err := t.publish(c.Metrics[i], w, key, statistic); err != nil {
			return err
		}
	}
	return nil
}

func (t *Turn) draw(cell Cell, count int64, u units.Precision, released bool) {
	t.Stopped[cell] = u
	t.Draws = append(t.Draws, Draw{cell, count, u, released})
}

// basesFirst lists the metrics in the order of the configuration, but puts those that take their
// keys from another metric last.
func (c *Config) basesFirst() []int {
	var bases, taken []int
	for i, spec := range c.Metrics {
		if isComponent(spec) || isStatistic(spec) {
			continue // drawn with its metric, or computed from it
		}
		if spec.KeyMode == "from" {
			taken = append(taken, i)
		} else {
			bases = append(bases, i)
		}
	}
	return append(bases, taken...)
}

// releaseKeys lists the keys for which a metric draws noise. These are all its public keys, or the
// private keys with an admitted count. A metric that takes its keys from another metric draws noise
// for the keys that the other metric released, even if no user contributed to them.
func (c *Config) releaseKeys(metric int, counts map[Cell]int64, released map[Cell]bool) []string {
	spec := c.Metrics[metric]
	var keys []string
	switch spec.KeyMode {
	case "public":
		for _, key := range spec.PublicKeys {
			keys = append(keys, string(key))
		}
	case "private":
		for cell := range maps.Keys(counts) {
			if cell.Metric == metric {
				keys = append(keys, cell.Key)
			}
		}
	case "from":
		base, _ := c.metric(spec.KeysFrom)
		for cell, passed := range released {
			if cell.Metric == base && passed {
				keys = append(keys, cell.Key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

func (c *Config) refine(metric int, w window, key string, count int64) (stop, error) {
	if c.path != nil {
		return c.path(metric, w, key), nil
	}
	return c.ladders[metric].refine(c.Noise, noisereduction.Identity{
		Incarnation: c.Incarnation, MetricDigest: c.Metrics[metric].Digest(),
		WindowStart: w.start, WindowEnd: w.end, Key: []byte(key),
	}, count)
}

// publish encodes one release.
func (t *Turn) publish(spec schemas.MetricSpec, w window, key string, s stop) error {
	c := t.Config
	from, to := c.Zone.Time(w.start), c.Zone.Time(w.end)
	release := schemas.Release{
		Turn: t.Number, Generation: c.Generation, Metric: spec.Name, MetricDigest: spec.Digest(), WindowStart: from,
		WindowEnd: to, Key: key, Value: s.value, StdDev: s.stddev, Low: s.low, High: s.high, Met: s.met,
		Precision: precisionOf(s.precision), Confidence: spec.Confidence, Rungs: s.rungs, NoiseKeyID: c.Noise.ID,
	}
	value, err := schemas.EncodeRelease(c.Counts, release)
	if err != nil {
		return fmt.Errorf("encoding a release: %w", err)
	}
	t.Published = append(t.Published, Published{schemas.EncodeReleaseKey(spec.Name, from, []byte(key)), value, release})
	return nil
}
