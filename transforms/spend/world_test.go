package spend

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// kind is something that can happen to a shard in a turn.
type kind int

const (
	nothing kind = iota
	forgetShard
	restart            // a new process and epoch
	tear               // the append is torn off after arg records, then the process is killed
	killBeforeWait     // everything lands, and the process is killed before it hands on
	redeliver          // the same element again before a caller waited for the first
	redeliverForgotten // the same, and the shard is forgotten
	staleBlobs         // the envelope has blobs of an older epoch, too
	compaction
	kinds
)

type happening struct {
	shard, arg int
	kind       kind
}

// world plays READ, RELEASE and SETTLE around an Engine: it opens turns, adds
// up partial counts, and settles at precisions that a hash chooses.
type world struct {
	settings
	rules       *Rules
	ledger      *memLedger
	settlements *memSettlements
	engine      *Engine
	epoch       int64
	forget      bool // for the next element
	maxRecord   int  // bytes of a ledger record; 0: as in production
	rng         *rand.Rand
}

func newWorld(s settings, seed uint64) (*world, error) {
	rules, err := NewRules(s.budget, testHashKey, s.metrics, s.shards, s.releaseShards, s.slots)
	if err != nil {
		return nil, err
	}
	w := &world{settings: s, rules: rules, ledger: newMemLedger(), settlements: newMemSettlements(),
		rng: rand.New(rand.NewPCG(runseed.Shared(seed), 1))}
	w.settlements.history = 2 * uint64(s.slots)
	return w, w.restart()
}

// restart makes a new process with a new epoch.
func (w *world) restart() error {
	w.epoch = w.ledger.nextEpoch()
	var err error
	w.engine, err = NewEngine(Options{
		Rules: w.rules, Ledger: w.ledger, Settlements: w.settlements, Ending: w.windows, Windows: w.settings,
	})
	if err == nil && w.maxRecord > 0 {
		w.engine.maxRecord = w.maxRecord
	}
	return err
}

// envelope packs a shard's contributions to a turn, in any order.
func (w *world) envelope(turn uint64, shard int, cs []contribution, fromLedger bool) [][]byte {
	blobs := [][]byte{
		schemas.EncodeOpen(schemas.Open{Epoch: w.epoch, Turn: turn, Contributions: records(cs), Shard: uint32(shard),
			Shards: uint32(w.shards), SettledAt: -1, FromLedger: fromLedger})}
	if !fromLedger {
		blobs = append(blobs, w.batches(turn, shard, cs)...)
	}
	w.rng.Shuffle(len(blobs), func(i, j int) { blobs[i], blobs[j] = blobs[j], blobs[i] })
	return blobs
}

// batches packs a shard's contributions to a turn at random: in any order, over any
// number of batches, a user's events of a key in one piece or several.
func (w *world) batches(turn uint64, shard int, cs []contribution) (blobs [][]byte) {
	var mine []contribution
	for _, c := range cs {
		if schemas.ShardOf(testID(c.user), w.shards) != shard {
			continue
		}
		for c.n > 1 && w.rng.IntN(2) == 0 {
			part := c
			part.n = 1 + w.rng.Uint32N(c.n-1)
			c.n -= part.n
			mine = append(mine, part)
		}
		mine = append(mine, c)
	}
	w.rng.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	for len(mine) > 0 {
		n := 1 + w.rng.IntN(len(mine))
		blobs = append(blobs, w.batch(w.epoch, turn, shard, mine[:n]))
		mine = mine[n:]
	}
	return blobs
}

func records(cs []contribution) (n uint64) {
	for _, c := range cs {
		n += uint64(c.n)
	}
	return n
}

// batch encodes contributions in the order given, one user entry each.
func (s settings) batch(epoch int64, turn uint64, shard int, cs []contribution) []byte {
	b := schemas.Contributions{Epoch: epoch, Turn: turn, Shard: uint32(shard), Records: records(cs)}
	index := map[string]uint32{}
	for _, c := range cs {
		number, known := index[labelKey(c.label())]
		if !known {
			number = uint32(len(b.Labels))
			index[labelKey(c.label())] = number
			b.Labels = append(b.Labels, c.label())
		}
		u := schemas.ContribUser{ID: testID(c.user), Period: c.period, Entries: []schemas.KeyCount{{Key: number,
			N: c.n}}}
		if s.recordsOf() {
			u.Records = []schemas.RecordValue{{Key: number, N: c.n, Value: c.value, ID: c.record()}}
		}
		b.Users = append(b.Users, u)
	}
	data, err := schemas.EncodeContributions(b)
	if err != nil {
		panic(err) // a mistake of the test's
	}
	return data
}

// play spends a turn in all shards, whatever happens on the way, and returns the partial counts
// without their epoch.
func (w *world) play(turn uint64, cs []contribution, happens []happening) ([]schemas.Partial, error) {
	pending := slices.Clone(happens)
	for {
		partials, err := w.attempt(turn, cs, &pending)
		if !errors.Is(err, errCrashed) {
			return partials, err
		}
		if err := w.restart(); err != nil {
			return nil, err
		}
	}
}

// attempt opens a turn in all shards of the epoch: from the ledger, if all shards have it there.
func (w *world) attempt(turn uint64, cs []contribution, pending *[]happening) ([]schemas.Partial, error) {
	fromLedger := true
	for shard := range w.shards {
		r, err := w.ledger.reader(shard)
		if err != nil {
			return nil, err
		}
		fromLedger = fromLedger && slices.Contains(r.DeltaTurns(), turn)
	}
	var partials []schemas.Partial
	for shard := range w.shards {
		h := happening{kind: nothing}
		if i := slices.IndexFunc(*pending, func(h happening) bool { return h.shard == shard }); i >= 0 {
			h = (*pending)[i]
			*pending = slices.Delete(slices.Clone(*pending), i, i+1)
		}
		blobs, err := w.shardTurn(turn, shard, cs, fromLedger, h)
		if err != nil {
			return nil, err
		}
		for _, b := range blobs {
			p, err := schemas.DecodePartial(b.Data)
			if err != nil {
				return nil, err
			}
			if p.Epoch != w.epoch || int(p.ReleaseShard) != b.Shard || int(p.Shard) != shard || p.Turn != turn {
				return nil, fmt.Errorf("a partial of epoch %d, turn %d, shard %d instead of %d, %d, %d", p.Epoch,
					p.Turn, p.Shard, w.epoch, turn, shard)
			}
			p.Epoch = 0
			partials = append(partials, p)
		}
	}
	return partials, nil
}

func (w *world) shardTurn(turn uint64, shard int, cs []contribution, fromLedger bool, h happening) ([]Blob, error) {
	blobs := w.envelope(turn, shard, cs, fromLedger)
	switch h.kind {
	case forgetShard:
		w.forget = true
	case compaction:
		w.ledger.compact()
	case restart:
		if err := w.restart(); err != nil {
			return nil, err
		}
		return nil, errCrashed
	case tear:
		w.ledger.tear = func(int, int) int { return h.arg }
		defer func() { w.ledger.tear = nil }()
	case staleBlobs:
		old := []contribution{{user: 1, key: "stale", n: 7}}
		blobs = append(blobs, w.batch(w.epoch-1, turn, shard, old), schemas.EncodeOpen(schemas.Open{Epoch: w.epoch - 1,
			Turn: turn + 5, Shard: uint32(shard), Shards: uint32(w.shards)}))
	}
	pending, err := w.spend(shard, blobs)
	if err != nil {
		return nil, err
	}
	switch h.kind {
	case killBeforeWait:
		return nil, errCrashed
	case redeliver, redeliverForgotten:
		w.forget = h.kind == redeliverForgotten
		blobs = w.envelope(turn, shard, cs, fromLedger)
		if pending, err = w.spend(shard, blobs); err != nil {
			return nil, err
		}
	}
	return pending.Wait(context.Background())
}

func (w *world) spend(shard int, blobs [][]byte) (Pending, error) {
	if w.forget {
		w.engine.shard(shard).forget()
		w.forget = false
	}
	pending, err := w.engine.Spend(context.Background(), shard, blobs)
	if err == nil && pending == nil {
		return nil, errors.New("an OPEN of the newest epoch was dropped")
	}
	return pending, err
}

// cell names a count: a metric, a window in Unix milliseconds, a key.
type cell struct {
	Metric     uint32
	Start, End int64
	Key        string
}

// settle stops every ladder at a rung chosen by a hash of the key.
func (w *world) settle(turn uint64, partials []schemas.Partial) schemas.Settled {
	s := schemas.Settled{Turn: turn}
	counts := map[cell]int64{}
	for _, p := range partials {
		for _, c := range p.Cells {
			counts[cell{c.Metric, c.WindowStart, c.WindowEnd, string(c.Key)}] += c.Count
		}
	}
	for i := range w.metrics {
		s.FirstRungs = append(s.FirstRungs, w.metrics[i].First)
	}
	for _, p := range w.windows(turn) {
		for i := p.Metric; int(i) < len(w.metrics) &&
			(i == p.Metric || w.metrics[i].Of == w.metrics[p.Metric].Name); i++ {
			for _, k := range w.metrics[i].PublicKeys {
				counts[cell{i, p.WindowStart, p.WindowEnd, string(k)}] += 0
			}
		}
	}
	var released []cell
	for c := range counts {
		m := &w.metrics[c.Metric]
		if m.KeyMode == schemas.KeysFrom || m.KeyMode == schemas.KeysPrivate && hashOf(c)%3 == 0 {
			continue // below the threshold, or another shard's
		}
		released = append(released, c)
	}
	var trees []cell
	for _, c := range slices.Clone(released) {
		for i := range w.metrics {
			key := cell{uint32(i), c.Start, c.End, c.Key}
			switch {
			case w.metrics[i].KeysFrom != w.metrics[c.Metric].Name && w.metrics[i].Of != w.metrics[c.Metric].Name:
			case metrickind.Of(w.metrics[i].Kind).Statistic != nil: // which has no draws of its own
			case metrickind.Of(w.metrics[i].Kind).HasNodes():
				trees = append(trees, key)
			case w.metrics[i].KeysFrom == w.metrics[c.Metric].Name:
				released = append(released, key)
			}
		}
	}
	released = append(released, drawnTrees(trees, w.metrics)...)
	for _, c := range released {
		m := &w.metrics[c.Metric]
		span := new(big.Int).Sub(m.Top.Big(), m.First.Big())
		whole := c
		// one precision for a tree
		if key, _, ok := schemas.SplitNodeKey([]byte(c.Key)); ok && metrickind.Of(m.Kind).HasNodes() {
			whole.Key = string(key)
		}
		share := new(big.Int).Mul(span, new(big.Int).SetUint64(hashOf(whole)>>8%5))
		u, err := units.PrecisionFromBig(share.Div(share, big.NewInt(4)).Add(share, m.First.Big()))
		if err != nil {
			panic(err) // a mistake of the test's
		}
		s.Keys = append(s.Keys, schemas.SettledKey{Metric: c.Metric, WindowStart: c.Start, WindowEnd: c.End,
			Key: []byte(c.Key), Precision: u})
	}
	w.settlements.settle(s)
	return s
}

// drawnTrees returns the nodes of keys' trees whose children are drawn: the root, and below it a
// choice by a hash.
func drawnTrees(trees []cell, metrics []schemas.MetricSpec) (drawn []cell) {
	for _, c := range trees {
		level := []metrickind.Node{metrickind.Root}
		scale, err := metrics[c.Metric].Scale()
		if err != nil {
			panic(err)
		}
		if edges := len(metrics[c.Metric].PublicKeys); edges > 0 { // a histogram
			for parent := metrickind.Root; int(parent-metrickind.Root)*metrickind.Branching < edges-1; parent++ {
				part := c
				part.Key = string(schemas.NodeKey([]byte(c.Key), parent))
				drawn = append(drawn, part)
			}
			continue
		}
		for range scale.Levels() {
			var next []metrickind.Node
			for _, n := range level {
				part := c
				part.Key = string(schemas.NodeKey([]byte(c.Key), n))
				drawn = append(drawn, part)
				for i := range metrickind.Branching {
					if part.Key = string(schemas.NodeKey([]byte(c.Key), n.Child(i))); hashOf(part)%3 == 0 {
						next = append(next, n.Child(i))
					}
				}
			}
			level = next
		}
	}
	return drawn
}

func hashOf(c cell) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, []int64{int64(c.Metric), c.End})
	_, _ = h.Write([]byte(c.Key))
	return h.Sum64()
}

// accounts returns all shards' accounts as the processes know them.
func (w *world) accounts() map[account]accounts.Account {
	all := map[account]accounts.Account{}
	for _, s := range w.engine.shards {
		if s.accounts == nil {
			continue // it was taken, and is forgotten
		}
		for e := range s.accounts.store.All() {
			all[account{e.ID, e.Period}] = e.Account
		}
	}
	return all
}

// agree compares everything that can be seen with the model.
func (w *world) agree(m *model, partials []schemas.Partial) error {
	counts := map[cell]int64{}
	tallies := make([]schemas.WindowTally, len(w.metrics))
	for _, p := range partials {
		for _, c := range p.Cells {
			counts[cell{c.Metric, c.WindowStart, c.WindowEnd, string(c.Key)}] += c.Count
		}
		for _, t := range p.Tallies {
			tallies[t.Metric].Add(t.WindowTally)
		}
	}
	if fmt.Sprint(counts) != fmt.Sprint(m.counts) {
		return fmt.Errorf("counts are %v, the model says %v", counts, m.counts)
	}
	if !slices.Equal(tallies, m.tallies) {
		return fmt.Errorf("tallies are %v, the model says %v", tallies, m.tallies)
	}
	accounts := w.accounts()
	for who, want := range m.accounts {
		got := accounts[who]
		delete(accounts, who)
		if spent := want.settled.Spent; int64(got.Spent) != spent || int64(got.Reserved) != want.open.Spent-spent {
			return fmt.Errorf("an account is %+v, the model says %+v", got, want)
		}
		if sum, ok := got.Spent.Add(got.Reserved); !ok || sum > w.budget.Mu2 {
			return fmt.Errorf("an account is over budget: %+v of %+v", got, w.budget)
		}
	}
	if len(accounts) > 0 {
		return fmt.Errorf("%d accounts that the model does not know", len(accounts))
	}
	return nil
}
