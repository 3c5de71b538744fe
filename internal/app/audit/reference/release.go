package reference

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// count adds up what everybody admitted brings. A user who is admitted in two periods adds twice to
// events and sums, and is one user for distinct users.
func (c Config) count(members []*member) map[metricKey]int64 {
	counts := map[metricKey]int64{}
	type userAt struct {
		metricKey
		user accounts.ID
	}
	there := map[userAt]bool{}
	for _, m := range members {
		for _, part := range m.parts {
			if !part.Admitted {
				continue
			}
			for j, at := range c.FurtherOf(part.metric) {
				for key, n := range part.Further[j] {
					counts[metricKey{at, key}] += n
				}
			}
			if hasTree(c.Metrics[part.metric].Kind) {
				at, steps := c.nodesOf(part.metric), c.stepsOf(part.metric)
				for key, values := range part.Values {
					for _, v := range values {
						for _, n := range steps.nodesWith(v) {
							counts[metricKey{at, n.cell(key)}]++
						}
					}
				}
			}
			for key, n := range part.Counts {
				at := metricKey{part.metric, key}
				user := userAt{at, m.owner.ID}
				if c.Metrics[part.metric].Kind != "distinct_users" || !there[user] {
					there[user] = true
					counts[at] += n
				}
			}
		}
	}
	for at, n := range counts {
		counts[at] = min(max(n, -noisereduction.MaxCount), noisereduction.MaxCount)
	}
	return counts
}

// release releases along the ladder of every key of every window that ends, and returns the
// precision that its contributors pay: the one at which it stopped, also where that is the first
// rung of a private key that stayed below its threshold.
func (c Config) release(out *Output, counts map[metricKey]int64, turn uint64,
	end int64) (map[metricKey]*big.Int, error) {
	stopped := map[metricKey]*big.Int{}
	released := map[metricKey]bool{}
	for _, i := range c.basesFirst() {
		spec := c.Metrics[i]
		w, ends := c.windowEnding(spec, end)
		if !ends {
			continue
		}
		for _, key := range c.releaseKeys(i, counts, released) {
			at := metricKey{i, key}
			stop, err := c.refine(i, w, key, counts[at])
			if err != nil {
				return nil, fmt.Errorf("releasing along the ladder of metric %q: %w", spec.Name, err)
			}
			stopped[at], released[at] = stop.precision, stop.passed
			out.Draws = append(out.Draws, Draw{turn, i, key, counts[at], stop.precision, stop.passed})
			if !stop.passed {
				continue
			}
			drawn := []estimate{{big.NewRat(stop.value, 1024), stop.precision}}
			for _, at := range c.FurtherOf(i) {
				of := metricKey{at, key}
				u := furtherPrecision(spec, c.Metrics[at], stop.precision)
				stopped[of] = u
				out.Draws = append(out.Draws, Draw{turn, at, key, counts[of], u, true})
				one, err := c.drawOnce(at, w, key, counts[of], u)
				if err != nil {
					return nil, err
				}
				if c.Metrics[at].Kind == "mean_events" {
					drawn[0] = one
					continue
				}
				drawn = append(drawn, one)
			}
			published, err := c.publish(spec, w, turn, key, counts[at], c.join(i, spec, stop, drawn))
			if err != nil {
				return nil, err
			}
			out.Published = append(out.Published, published)
			statistics, nodes, err := c.statistics(i, w, key, stop, drawn, counts)
			if err != nil {
				return nil, err
			}
			for of, u := range nodes {
				stopped[of] = u
				out.Draws = append(out.Draws, Draw{turn, of.metric, of.key, 0, u, true})
			}
			for of, statistic := range statistics {
				published, err := c.publish(c.Metrics[of], w, turn, key, counts[at], statistic)
				if err != nil {
					return nil, err
				}
				out.Published = append(out.Published, published)
			}
		}
	}
	return stopped, nil
}

// basesFirst lists the metrics in the order of the configuration, those that take the keys of
// another one after all others.
func (c Config) basesFirst() []int {
	var own, taken []int
	for i, spec := range c.Metrics {
		if isComponent(spec) || isStatistic(spec) {
			continue // drawn with its metric, or computed from it
		}
		if spec.KeyMode == "from" {
			taken = append(taken, i)
		} else {
			own = append(own, i)
		}
	}
	return append(own, taken...)
}

// releaseKeys lists the keys that a metric draws noise for: all public ones; the private ones with
// an admitted count; or those that the metric it takes them from has released, also where no user
// contributed to it.
func (c Config) releaseKeys(metric int, counts map[metricKey]int64, released map[metricKey]bool) []string {
	spec := c.Metrics[metric]
	var keys []string
	switch spec.KeyMode {
	case "public":
		for _, key := range spec.PublicKeys {
			keys = append(keys, string(key))
		}
	case "private":
		for at := range maps.Keys(counts) {
			if at.metric == metric {
				keys = append(keys, at.key)
			}
		}
	case "from":
		base, _ := c.metric(spec.KeysFrom)
		for at, passed := range released {
			if at.metric == base && passed {
				keys = append(keys, at.key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

func (c Config) refine(metric int, w window, key string, count int64) (stop, error) {
	if c.path != nil {
		return c.path(metric, w, key), nil
	}
	return c.ladders[metric].refine(c.Noise, noisereduction.Identity{
		Incarnation: c.Incarnation, MetricDigest: c.Metrics[metric].Digest(),
		WindowStart: w.start, WindowEnd: w.end, Key: []byte(key),
	}, count)
}

// publish encodes one release.
func (c Config) publish(spec schemas.MetricSpec, w window, turn uint64, key string, count int64,
	s stop) (Published, error) {
	precision, err := units.PrecisionFromBig(s.precision)
	if err != nil {
		return Published{}, fmt.Errorf("converting a precision: %w", err)
	}
	release := schemas.Release{
		Turn: turn, Generation: c.Generation, Metric: spec.Name, MetricDigest: spec.Digest(),
		WindowStart: w.start, WindowEnd: w.end, Key: key, Value: s.value, StdDev: s.stddev, Low: s.low, High: s.high,
		Precision: precision, Confidence: spec.Confidence, Met: s.met, Rungs: s.rungs, NoiseKeyID: c.Noise.ID,
	}
	value, err := schemas.EncodeRelease(c.Counts, release)
	if err != nil {
		return Published{}, fmt.Errorf("encoding a release: %w", err)
	}
	return Published{schemas.EncodeReleaseKey(spec.Name, w.start, []byte(key)), value, release, count}, nil
}
