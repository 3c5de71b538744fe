package reference

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Published is one record of the counts topic.
type Published struct {
	Key, Value []byte
	Release    schemas.Release // what Value decodes to
	Count      uint64          // the exact count behind it; known to tests only
}

// Output is all that a deployment publishes and keeps.
type Output struct {
	Published []Published                    // by turn, metric, key
	Accounts  map[state.AccountID]Account    // accounts that are not zero
	Admitted  map[state.AccountID][]Decision // what was decided about each user, in order
	Fates     map[int32][]Judged
	Tallies   Tallies
}

// Decision is the admission of one user to one (metric, window), with what the user would contribute.
type Decision struct {
	Turn     uint64
	Metric   int
	Admitted bool
	Counts   map[string]uint64
}

type metricKey struct {
	metric int
	key    string
}

// Run computes the output of a log whose first turns turns were closed. Cuts matter only where a clock closed a turn (idle
// partitions, the forced end of a bounded run); nil stands for none.
func Run(c Config, log Log, cuts Cuts, turns uint64) (Output, error) {
	c, err := Compile(c)
	if err != nil {
		return Output{}, err
	}
	out := Output{Accounts: map[state.AccountID]Account{}, Admitted: map[state.AccountID][]Decision{}, Fates: map[int32][]Judged{}}
	out.Tallies.Records.DeadLettered = map[string]uint64{}
	out.Tallies.Metrics = make([]MetricTallies, len(c.Metrics))
	ends := c.TurnEnds(turns)

	var events []event
	for _, partition := range slices.Sorted(maps.Keys(log)) {
		fates, accepted, err := c.judge(partition, log[partition], cuts, ends)
		if err != nil {
			return Output{}, err
		}
		out.Fates[partition] = fates
		for _, fate := range fates {
			out.Tallies.Records.add(fate)
		}
		events = append(events, accepted...)
	}
	for turn := uint64(1); turn <= turns; turn++ {
		if err := c.turn(&out, events, turn, ends[turn-1]); err != nil {
			return Output{}, fmt.Errorf("computing turn %d: %w", turn, err)
		}
	}
	for i, m := range c.Metrics {
		for _, e := range events {
			if len(ends) == 0 || windowOf(e.millis, m.WindowSize).end > ends[len(ends)-1] {
				out.Tallies.Metrics[i].Open++
			}
		}
	}
	return out, nil
}

// turn runs one turn: slices, clipping, admission, release, charges.
func (c Config) turn(out *Output, events []event, turn uint64, end int64) error {
	members := c.members(out, events, end)
	counts := map[metricKey]uint64{}
	for _, m := range members {
		account, known := out.Accounts[m.id]
		if !known {
			account = Account{new(big.Int), new(big.Int)}
		}
		c.admit(&account, m)
		out.Accounts[m.id] = account
		for _, part := range m.pairs {
			tally := &out.Tallies.Metrics[part.metric]
			out.Admitted[m.id] = append(out.Admitted[m.id], Decision{turn, part.metric, part.admitted, part.counts})
			for key, n := range part.counts {
				if part.admitted {
					counts[metricKey{part.metric, key}] += n
					tally.Counted += n
				} else {
					tally.OverBudget += n
				}
			}
		}
	}
	stopped, err := c.release(out, counts, turn, end)
	if err != nil {
		return err
	}
	for _, m := range members {
		account := out.Accounts[m.id]
		settle(&account, m, stopped)
		out.Accounts[m.id] = account
		if account.Spent.Sign() == 0 && account.Keys.Sign() == 0 {
			delete(out.Accounts, m.id)
		}
	}
	return nil
}

// members collects who brings what to the windows that end, clipped, and counts what is left out on the way.
func (c Config) members(out *Output, events []event, end int64) []*member {
	hasher := schemas.NewHasher(c.UserHash)
	byID := map[state.AccountID]*member{}
	for i, spec := range c.Metrics {
		if windowOf(end-1, spec.WindowSize).end != end {
			continue // this metric has no window that ends here
		}
		w := windowOf(end-1, spec.WindowSize)
		slice := map[state.AccountID]map[string]uint64{}
		for _, e := range events {
			if e.millis < w.start || e.millis >= w.end {
				continue
			}
			if !Takes(spec, e.key) {
				out.Tallies.Metrics[i].Filtered++
				continue
			}
			id := hasher.Account([]byte(e.user))
			if slice[id] == nil {
				slice[id] = map[string]uint64{}
			}
			slice[id][e.key]++
		}
		for id, keys := range slice {
			kept, clipped := Clip(hasher, spec, id, keys)
			out.Tallies.Metrics[i].Clipped += clipped
			if byID[id] == nil {
				byID[id] = &member{id: id}
			}
			byID[id].pairs = append(byID[id].pairs, pairPart{metric: i, counts: kept})
		}
	}
	members := slices.Collect(maps.Values(byID))
	slices.SortFunc(members, func(a, b *member) int { return bytes.Compare(a.id[:], b.id[:]) })
	return members
}

// Takes tells whether a key belongs to a metric: every private key does, and the public keys of the list.
func Takes(spec schemas.MetricSpec, key string) bool {
	if spec.KeyMode != "public" {
		return true
	}
	for _, public := range spec.PublicKeys {
		if string(public) == key {
			return true
		}
	}
	return false
}

// release climbs the ladder of every key of every window that ends, and returns the precision that its users pay: the one at
// which it stopped, or the first rung for a private key that stayed below its threshold.
func (c Config) release(out *Output, counts map[metricKey]uint64, turn uint64, end int64) (map[metricKey]*big.Int, error) {
	stopped := map[metricKey]*big.Int{}
	for i, spec := range c.Metrics {
		w := windowOf(end-1, spec.WindowSize)
		if w.end != end {
			continue
		}
		for _, key := range releaseKeys(i, spec, counts) {
			count := counts[metricKey{i, key}]
			stop, err := c.ladders[i].climb(c.Noise, noisereduction.Identity{
				Incarnation: c.Incarnation, MetricDigest: spec.Digest(), WindowStart: w.start, WindowEnd: w.end, Key: []byte(key),
			}, count)
			if err != nil {
				return nil, fmt.Errorf("climbing the ladder of metric %q: %w", spec.Name, err)
			}
			stopped[metricKey{i, key}] = stop.precision
			if !stop.passed {
				continue
			}
			published, err := c.publish(spec, w, turn, key, count, stop)
			if err != nil {
				return nil, err
			}
			out.Published = append(out.Published, published)
		}
	}
	return stopped, nil
}

// releaseKeys lists the keys that a metric draws noise for: all public ones, or the private ones with an admitted count.
func releaseKeys(metric int, spec schemas.MetricSpec, counts map[metricKey]uint64) []string {
	var keys []string
	if spec.KeyMode == "public" {
		for _, key := range spec.PublicKeys {
			keys = append(keys, string(key))
		}
		return keys
	}
	for mk, n := range counts {
		if mk.metric == metric && n > 0 {
			keys = append(keys, mk.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// publish encodes one release.
func (c Config) publish(spec schemas.MetricSpec, w window, turn uint64, key string, count uint64, s stop) (Published, error) {
	precision, err := state.PrecisionFromBig(s.precision)
	if err != nil {
		return Published{}, fmt.Errorf("converting a precision: %w", err)
	}
	release := schemas.Release{
		Turn: turn, Generation: c.Generation, Metric: spec.Name, MetricDigest: spec.Digest(),
		WindowStart: w.start, WindowEnd: w.end, Key: key, Value: s.value, StdDev: s.stddev, Low: s.low, High: s.high,
		Precision: precision, Confidence: spec.Confidence, Met: s.met, Rungs: s.rungs, NoiseKeyID: c.Noise.ID,
	}
	value, err := schemas.EncodeRelease(release)
	if err != nil {
		return Published{}, fmt.Errorf("encoding a release: %w", err)
	}
	return Published{schemas.EncodeReleaseKey(spec.Name, w.start, w.end, []byte(key)), value, release, count}, nil
}
