package spend

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/schemas"
)

// partials adds up the contributions of the users admitted in the open turn. It returns one blob
// for each release shard. Even a blob without counts is returned, because a release shard waits for
// the blobs of all shards. Cells are sorted by window and key.
func (a *shardAccounts) partials(n int, open *schemas.Open) ([]Blob, error) {
	shards := a.rules.ReleaseShards
	cells := make([][]schemas.Cell, shards)
	add := func(w schemas.MetricWindow, shardKey, key []byte, count int64) {
		target := schemas.ReleaseShardOf(a.rules.metrics[w.Metric].spec.Route(), w.WindowStart, w.WindowEnd, shardKey,
			shards)
		cells[target] = append(cells[target],
			schemas.Cell{Metric: w.Metric, WindowStart: w.WindowStart, WindowEnd: w.WindowEnd, Key: key, Count: count})
	}
	a.cells(a.decided, add)
	blobs := make([]Blob, shards)
	for r := range blobs {
		partial := schemas.Partial{
			Epoch: open.Epoch, Turn: open.Turn,
			Shard: uint32(n), Shards: open.Shards,
			ReleaseShard: uint32(r), ReleaseShards: uint32(shards),
			Records: a.decided.delta.Records, Total: open.Contributions,
			Cells: cells[r],
		}
		if r == 0 {
			partial.Tallies = a.tallies()
		}
		data, err := schemas.EncodePartial(partial)
		if err != nil {
			return nil, fmt.Errorf("encoding partial counts of turn %d: %w", open.Turn, err)
		}
		blobs[r] = Blob{Shard: r, Data: data}
	}
	return blobs, nil
}

// cells calls add for every count of a decided turn. shardKey is the key that determines the
// release shard of the count. cells splits a count that does not fit in 64 bits.
func (a *shardAccounts) cells(d *decision, add func(w schemas.MetricWindow, shardKey, key []byte, count int64)) {
	sums := a.counts(d)
	for i, w := range d.delta.Windows {
		m := &a.rules.metrics[w.Metric]
		keys := d.ended.keysOf(i, m)
		for k, present := range sums.present[i] {
			if present {
				sums.keys[i][k].Parts(func(n int64) { add(w, keys[k], keys[k], n) })
			}
		}
		for j, component := range m.extra {
			derived := w
			derived.Metric = uint32(component)
			for k, present := range sums.present[i] {
				if present {
					sums.extra[i][k*len(m.extra)+j].Parts(func(n int64) { add(derived, keys[k], keys[k], n) })
				}
			}
		}
		for _, l := range slices.SortedFunc(maps.Keys(sums.leaves[i]), compareLeaves) {
			derived := w
			derived.Metric = uint32(m.nodes)
			key := schemas.NodeKey(keys[l.key], l.leaf)
			sums.leaves[i][l].Parts(func(n int64) { add(derived, keys[l.key], key, n) })
		}
	}
}

// counts holds the counts of one shard in one turn, over all admitted users.
type counts struct {
	keys    [][]int128.Int             // by window and key
	extra   [][]int128.Int             // by window, key and additional component
	present [][]bool                   // by window and key: whether an admitted user contributes to the key
	leaves  []map[leafCount]int128.Int // by window; the map keys have n = 0
}

// counts adds up the contributions of a turn's reservations. A user with two budget periods in one
// window has two accounts, which are charged separately. Metrics of users count such a user once.
func (a *shardAccounts) counts(d *decision) counts {
	n := len(d.delta.Windows)
	c := counts{keys: make([][]int128.Int, n), extra: make([][]int128.Int, n), present: make([][]bool, n),
		leaves: make([]map[leafCount]int128.Int, n)}
	for i := range n {
		m := &a.rules.metrics[d.delta.Windows[i].Metric]
		keys := len(d.ended.keysOf(i, m))
		c.keys[i], c.present[i] = make([]int128.Int, keys), make([]bool, keys)
		c.extra[i] = make([]int128.Int, keys*len(m.extra))
	}
	last := lastUsers(a, d)
	for i := range d.reservations.list {
		r := &d.reservations.list[i]
		lastUser := last[r.window]
		components := len(a.rules.metrics[d.delta.Windows[r.window].Metric].extra)
		for _, l := range d.reservations.leavesOf(r) {
			if c.leaves[r.window] == nil {
				c.leaves[r.window] = map[leafCount]int128.Int{}
			}
			cell := leafCount{key: l.key, leaf: l.leaf}
			c.leaves[r.window][cell] = c.leaves[r.window][cell].Add(int64(l.n))
		}
		for i, k := range d.reservations.keptOf(r) {
			for j, n := range d.reservations.extraOf(r, i, components) {
				sum := &c.extra[r.window][int(k.key)*components+j]
				*sum = sum.Add(n)
			}
			c.present[r.window][k.key] = true
			if lastUser != nil {
				if lastUser[k.key] == r.user {
					continue
				}
				lastUser[k.key] = r.user
			}
			sum := &c.keys[r.window][k.key]
			*sum = sum.Add(k.total)
		}
	}
	return c
}

// lastUsers returns memory for the user that was counted last, by window and key, for windows of
// metrics that count users. The reservations of one user follow one another, so it is enough to
// remember the last user to count each user once.
func lastUsers(a *shardAccounts, d *decision) [][]uint32 {
	last := make([][]uint32, len(d.delta.Windows))
	for i, w := range d.delta.Windows {
		if m := &a.rules.metrics[w.Metric]; m.kind.OncePerUser {
			last[i] = make([]uint32, len(d.ended.keysOf(i, m)))
		}
	}
	return last
}

// tallies adds up the tallies of the decided turn by metric.
func (a *shardAccounts) tallies() []schemas.MetricTally {
	tallies := make([]schemas.MetricTally, len(a.rules.metrics))
	for m := range tallies {
		tallies[m].Metric = uint32(m)
	}
	for i, w := range a.decided.delta.Windows {
		tallies[w.Metric].WindowTally.Add(a.decided.delta.Tallies[i])
	}
	return tallies
}
