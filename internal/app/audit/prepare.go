package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// readCounts reads the published values of one topic.
func (a *auditor) readCounts(ctx context.Context, topic string, partitions int) error {
	for partition := range int32(partitions) {
		offsets, err := a.client.Offsets(ctx, topic, partition)
		if err != nil {
			return err
		}
		first := ^uint64(0)
		err = a.client.ReadRange(ctx, topic, partition, offsets.Start, offsets.High, func(r kafkalog.Record) error {
			header := slices.IndexFunc(r.Headers, func(h kafkalog.Header) bool { return h.Key == schemas.HeaderType })
			if header < 0 {
				return nil // written by another program
			}
			release, err := schemas.DecodeRelease(r.Value)
			if err != nil || string(r.Headers[header].Value) != schemas.TypeRelease {
				a.report.differ(Difference{What: "a record on counts is not a value"})
				return nil
			}
			first = min(first, release.Turn)
			v := countsValue{release.Turn, release.Metric, sha256.Sum256(r.Value)}
			if earlier, duplicate := a.counts[string(r.Key)]; duplicate && earlier.hash != v.hash {
				a.report.differ(Difference{Turn: release.Turn, What: "a value was published twice, differently",
					Metric: release.Metric, Key: &release.Key})
			}
			a.counts[string(r.Key)] = v
			return nil
		})
		if err != nil {
			return err
		}
		if offsets.Start > 0 {
			a.deletedUpTo[topic] = max(a.deletedUpTo[topic], first)
		}
	}
	return nil
}

// prepare checks the configurations and reads everything that is needed before the first turn.
func (a *auditor) prepare(ctx context.Context, d *deployment.Deployment) error {
	newest := &a.control.Headers[len(a.control.Headers)-1]
	a.report.Deployment, a.report.Incarnation = newest.Deployment, hex.EncodeToString(newest.Incarnation[:])
	a.report.Generations, a.report.Turns = len(a.control.Headers), a.control.Last
	for _, difference := range a.control.Differences {
		a.report.differ(difference)
	}
	if record := d.Config.Record; record != nil {
		for _, begun := range record.Begun {
			if begun.Incarnation != newest.Incarnation {
				a.report.skip(0, "another deployment under the same keys, %v: audit it with its own configuration",
					begun)
			}
		}
	}
	if fingerprint(d) != newest.UserHash {
		return fmt.Errorf("the given user-hash key is not the key of %s: restore its key file from the backup: %w",
			newest.Deployment, deployment.ErrHeaderMismatch)
	}
	if !slices.EqualFunc(d.Specs(), newest.Metrics, func(a, b schemas.MetricSpec) bool {
		return a.Digest() == b.Digest()
	}) ||
		d.Budget != newest.Budget || d.Config.Time.WindowZone != newest.Zone ||
		d.Config.Time.AcceptFuture != newest.AcceptFuture {
		return fmt.Errorf("auditing %s, whose newest generation on control is %d: %w", newest.Deployment,
			newest.Generation, deployment.ErrHeaderMismatch)
	}
	for _, h := range a.control.Headers {
		b := h.Budget.Whole() // δ_keys is rounded down, which can only increase B²
		if promised, _ := budgets.NewBudget(b.Epsilon, b.Delta, b.Accountant, b.Keys.Float()); b.Mu2 > promised.Mu2 {
			a.report.differ(Difference{Turn: h.FromTurn, What: "the budget is greater than promised"})
		}
	}
	for i, past := range a.Past {
		if !slices.ContainsFunc(a.control.Headers, func(h schemas.Header) bool {
			return h.Deployment == past.Config.Deployment && h.UserHash == fingerprint(past)
		}) {
			return fmt.Errorf("configuration %d of --past belongs to no generation of %s: its name or user-hash key "+
				"differs: %w", i+1, newest.Deployment, deployment.ErrHeaderMismatch)
		}
	}
	given := append([]*deployment.Deployment{d}, a.Past...)
	configs, unreadable, err := a.control.Configs(ctx, given)
	if err != nil {
		return err
	}
	for i := range configs {
		g := generation{header: &a.control.Headers[i]}
		if configs[i].Noise.ID == "" {
			g.keyFault = explainMissingKey(g.header.NoiseKeys[len(g.header.NoiseKeys)-1], given)
		}
		if schemas.KeyFingerprintOf("user-hash", configs[i].UserHash) == g.header.UserHash {
			g.hasher = schemas.NewHasher(configs[i].UserHash)
		}
		a.generations = append(a.generations, g)
	}
	partitions, err := a.client.Partitions(ctx, newest.EventsTopic)
	if err != nil {
		return err
	}
	cuts := reference.Cuts{}
	for turn := range a.control.Closes {
		cuts[turn] = a.control.cuts(turn)
	}
	if a.replay, err = reference.NewReplay(configs[len(configs)-1], cuts, a.control.Last, partitions...); err != nil {
		return err
	}
	for _, p := range partitions {
		if err := a.openEvents(ctx, newest.EventsTopic, p, unreadable); err != nil {
			return err
		}
	}
	return a.openTopics(ctx, configs)
}

// openEvents opens a partition at its first readable record or, if a CLOSE has a restart offset
// after that record, at the first such offset.
func (a *auditor) openEvents(ctx context.Context, topic string, partition int32, unreadable map[int32]int64) error {
	offsets, err := a.client.Offsets(ctx, topic, partition)
	if err != nil {
		return err
	}
	e := &events{reader: a.client.NewRangeReader(topic, partition), id: partition}
	e.start = max(offsets.Start, unreadable[partition])
	e.next, e.end = e.start, offsets.LastStable
	a.events = append(a.events, e)
	for turn := uint64(1); turn <= a.control.Last; turn++ {
		for _, cut := range a.control.Closes[turn].Cuts {
			switch {
			case cut.Partition != partition:
			case turn == 1 && e.start < cut.Cut: // earlier records may have been deleted before the deployment began
				return nil
			case cut.Restart >= e.start: // the CLOSE contains the largest append time before its restart offset
				e.next = cut.Restart
				a.replay.Reader(partition).Resume(cut.AppendTime)
				return nil
			}
		}
	}
	return nil
}

// openTopics indexes the ledgers of all generations and reads their published values.
func (a *auditor) openTopics(ctx context.Context, configs []reference.Config) error {
	ledgers, counts := map[string][]*Ledger{}, map[string]bool{}
	for i := range a.generations {
		g := &a.generations[i]
		topics := g.header.Topics
		if g.ledgers = ledgers[topics.Ledger]; g.ledgers == nil {
			g.ledgers = make([]*Ledger, g.header.Shards)
			ledgers[topics.Ledger] = g.ledgers
			group, opening := errgroup.WithContext(ctx) // opening is cancelled by Wait
			for shard := range g.ledgers {
				group.Go(func() (err error) {
					if g.ledgers[shard] = (&Ledger{shard: shard}); g.hasher != nil {
						g.ledgers[shard], err = OpenLedger(opening, a.client, configs[i].UserHash, topics.Ledger,
							shard, a.report.differ)
					}
					return err
				})
			}
			if err := group.Wait(); err != nil {
				return err
			}
			for _, l := range g.ledgers {
				l.known = i == 0 // all accounts are still zero
				if err := a.findForgotten(ctx, l); err != nil {
					return err
				}
			}
		}
		if !counts[topics.Counts] {
			counts[topics.Counts] = true
			if err := a.readCounts(ctx, topics.Counts, int(g.header.ReleaseShards)); err != nil {
				return err
			}
		}
	}
	return nil
}

// findForgotten finds the turn after which each user of a shard was forgotten. A FORGET on control
// does not identify the user. Its turn lies between the last snapshot without the user's mark and
// the first snapshot with it.
func (a *auditor) findForgotten(ctx context.Context, l *Ledger) error {
	if len(a.control.Forgets) == 0 {
		return nil
	}
	before := uint64(0) // turn of the previous snapshot
	for _, turn := range slices.Sorted(maps.Keys(l.snapshots)) {
		s, err := read(ctx, a.client, l, l.snapshots, turn, schemas.JoinSnapshot)
		if err != nil {
			return err
		}
		if s == nil { // compaction has removed it since
			continue
		}
		for _, mark := range s.Forgotten {
			if _, known := a.replay.Forgotten[mark]; known {
				continue
			}
			least, most := ^uint64(0), uint64(0)
			for _, forget := range a.control.Forgets {
				if forget >= before && forget <= turn {
					least, most = min(least, forget), max(most, forget)
				}
			}
			a.replay.Forgotten[mark] = most
			for turn := least + 1; turn <= most; turn++ {
				a.report.skip(turn, "a user who was forgotten after this turn or an earlier one")
			}
		}
		before = turn
	}
	return nil
}

// Configs returns the configurations of all generations, with the keys and event formats of the
// given deployments. unreadable is, by partition, the offset below which the format or the user of
// some records is unknown.
func (c *Control) Configs(ctx context.Context, given []*deployment.Deployment) (all []reference.Config,
	unreadable map[int32]int64, err error) {
	unreadable = map[int32]int64{}
	for i := range c.Headers {
		h := &c.Headers[i]
		next, readable, err := configOf(ctx, h, given)
		if err != nil {
			return nil, nil, err
		}
		next.Ahead = c.ahead
		if i > 0 {
			next = reference.Succeed(all[i-1], next, h.FromTurn, c.cuts(h.FromTurn-1))
		}
		all = append(all, next)
		switch {
		case readable:
		case i+1 < len(c.Headers):
			maps.Copy(unreadable, c.cuts(c.Headers[i+1].FromTurn-1))
		default:
			for partition := range c.cuts(c.Last) {
				unreadable[partition] = math.MaxInt64
			}
		}
	}
	return all, unreadable, nil
}

// cuts returns the end of a turn in each partition, as an offset.
func (c *Control) cuts(turn uint64) map[int32]int64 {
	cuts := map[int32]int64{}
	for _, cut := range c.Closes[turn].Cuts {
		cuts[cut.Partition] = cut.Cut
	}
	return cuts
}

// configOf returns the configuration of one generation. Its noise key is empty if no given
// deployment has that key. readable reports whether the given deployments have the generation's
// event format and user-hash key.
func configOf(ctx context.Context, h *schemas.Header, given []*deployment.Deployment) (c reference.Config,
	readable bool, err error) {
	first := &h.Metrics[0]
	period, _ := time.ParseDuration(first.Period) // "" is a single period that never ends
	c = reference.Config{
		Incarnation: h.Incarnation, Generation: h.Generation, Counts: h.Counts, Format: given[0].Config.Events.Format,
		Budget: int64(h.Budget.Mu2), Period: period.Milliseconds(), Start: h.StartMillis, Zone: wallclock.Of(h.Zone),
		Lateness: first.Lateness, Skew: first.Skew, Slack: first.Slack, AllowFuture: h.AcceptFuture, Metrics: h.Metrics,
	}
	if h.Trust == deployment.TrustProducer {
		c.Latest = time.Now().UnixMilli()
	}
	key := h.NoiseKeys[len(h.NoiseKeys)-1]
	hasUserHash := false
	for _, d := range given {
		if fingerprint(d) == h.UserHash {
			hasUserHash, c.UserHash = true, d.Config.Keys.UserHash.Reveal()
		}
		noise := d.Config.Keys.Noise
		if schemas.KeyFingerprintOf("noise", noise.Secret.Reveal()) == key.Fingerprint && noise.ID == key.ID {
			c.Noise = noise
		}
		if readable || !sameFormat(d, h) {
			continue
		}
		readable, c.Format = true, d.Config.Events.Format
		if g := d.Config.Events.Registry; g != nil {
			client, err := connect.Registry(g, func(error) {})
			if err != nil {
				return c, false, err
			}
			c.Decoding = append(c.Decoding, event.WithSchemas(ctx, client))
		}
	}
	c.Format.Filters = schemas.Filters(h.Metrics)
	return c, readable && hasUserHash, nil
}

// explainMissingKey explains why none of the given configurations has a noise key. The explanation
// keeps a reader from mistaking a key file with wrong contents for a deployment with wrong values.
func explainMissingKey(key schemas.KeyFingerprint, given []*deployment.Deployment) string {
	for _, d := range given {
		noise := d.Config.Keys.Noise
		same := schemas.KeyFingerprintOf("noise", noise.Secret.Reveal()) == key.Fingerprint
		switch {
		case same:
			return fmt.Sprintf("the noise key is given with the id %q: set keys.noise.id to %q", noise.ID, key.ID)
		case noise.ID == key.ID:
			return fmt.Sprintf("the secret given for the noise key %q is likely wrong, because the deployment "+
				"used another one: restore its key file from the backup", key.ID)
		}
	}
	return fmt.Sprintf("the noise key %q is in no given configuration", key.ID)
}

// fingerprint returns the fingerprint of a configuration's user-hash key.
func fingerprint(d *deployment.Deployment) [32]byte {
	return schemas.KeyFingerprintOf("user-hash", d.Config.Keys.UserHash.Reveal())
}

// sameFormat reports whether a configuration has the event format of a generation.
func sameFormat(d *deployment.Deployment, h *schemas.Header) bool {
	a, b := d.Events, h.Events
	if d.Config.Events.Registry == nil { // with a registry, its schemas determine the fields of filters
		format := d.Config.Events.Format
		format.Filters = schemas.Filters(h.Metrics)
		if id, err := format.Identity(""); err != nil || !slices.Equal(id.Filters, b.Filters) {
			return false
		}
	}
	return a.Records == b.Records && a.User == b.User && a.Key == b.Key && a.Time == b.Time && a.Value == b.Value
}
