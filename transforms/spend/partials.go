package spend

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/int128"
	"github.com/tollgate-dp/tollgate/schemas"
)

// partials adds up what the users who were admitted in the open span
// contributed, one blob per release shard, also when it is empty: a release shard
// counts its blobs. The order of cells is that of turns, windows and keys.
func (b *shardAccounts) partials(n int, open *schemas.Open) ([]Blob, error) {
	shards := b.rules.ReleaseShards
	cells := make([][]schemas.Cell, shards)
	add := func(p schemas.MetricWindow, key []byte, count int64) {
		to := schemas.ReleaseShardOf(b.rules.metrics[p.Metric].spec.Route(), p.WindowStart, p.WindowEnd, key, shards)
		cells[to] = append(cells[to], schemas.Cell{Metric: p.Metric, WindowStart: p.WindowStart, WindowEnd: p.WindowEnd, Key: key, Count: count})
	}
	var records uint64
	for i := range b.decided {
		records += b.decided[i].delta.Records
		b.cells(&b.decided[i], add)
	}
	blobs := make([]Blob, shards)
	for r := range blobs {
		partial := schemas.Partial{
			Epoch: open.Epoch, First: open.First, Turn: open.Turn,
			Shard: uint32(n), Shards: open.Shards,
			ReleaseShard: uint32(r), ReleaseShards: uint32(shards),
			Records: records, Total: open.Contributions,
			Cells: cells[r],
		}
		if r == 0 {
			partial.Tallies = b.tallies()
		}
		data, err := schemas.EncodePartial(partial)
		if err != nil {
			return nil, fmt.Errorf("encoding partial counts of turn %d: %w", open.Turn, err)
		}
		blobs[r] = Blob{Shard: r, Data: data}
	}
	return blobs, nil
}

// cells calls add for every count of a decided turn, more than once for a count
// that does not fit 64 bits.
func (b *shardAccounts) cells(d *decision, add func(p schemas.MetricWindow, key []byte, count int64)) {
	sums := b.counts(d)
	for i, p := range d.delta.Windows {
		for k, there := range sums.there[i] {
			if there {
				sums.keys[i][k].Parts(func(n int64) { add(p, d.ended.contributions[i].keys[k], n) })
			}
		}
		if m := &b.rules.metrics[p.Metric]; m.coverage >= 0 && sums.users[i] > 0 {
			add(schemas.MetricWindow{Metric: uint32(m.coverage), WindowStart: p.WindowStart, WindowEnd: p.WindowEnd}, nil, sums.users[i])
		}
	}
}

// counts are the admitted counts of a shard in one turn.
type counts struct {
	keys  [][]int128.Int // by window and key of its contributions
	there [][]bool       // somebody who was admitted has the key
	users []int64        // by window: admitted users
}

// counts adds up the reservations. A user with two budget periods in one window is
// two individuals who are charged apart, and one user where users are counted.
func (b *shardAccounts) counts(d *decision) counts {
	n := len(d.delta.Windows)
	c := counts{keys: make([][]int128.Int, n), there: make([][]bool, n), users: make([]int64, n)}
	for i := range n {
		c.keys[i] = make([]int128.Int, len(d.ended.contributions[i].keys))
		c.there[i] = make([]bool, len(d.ended.contributions[i].keys))
	}
	last := newLastUsers(b, d)
	user := 0 // numbered from 1
	for i := range d.reservations {
		t := &d.reservations[i]
		if i == 0 || t.id != d.reservations[i-1].id {
			user++
		}
		if last.inWindow[t.window] != user {
			last.inWindow[t.window] = user
			c.users[t.window]++
		}
		of := last.ofKey[t.window]
		for _, k := range t.kept {
			c.there[t.window][k.key] = true
			if of != nil {
				if of[k.key] == user {
					continue
				}
				of[k.key] = user
			}
			sum := &c.keys[t.window][k.key]
			*sum = sum.Add(k.total)
		}
	}
	return c
}

// lastUsers are the users who were counted last, by window and, where users are
// counted, by key: the reservations of one user stand together, so that this tells who
// was counted already, however many keys a user has.
type lastUsers struct {
	inWindow []int
	ofKey    [][]int
}

func newLastUsers(b *shardAccounts, d *decision) lastUsers {
	n := len(d.delta.Windows)
	l := lastUsers{inWindow: make([]int, n), ofKey: make([][]int, n)}
	for i, p := range d.delta.Windows {
		if b.rules.metrics[p.Metric].kind.OncePerUser {
			l.ofKey[i] = make([]int, len(d.ended.contributions[i].keys))
		}
	}
	return l
}

// tallies adds up the decided turns' tallies by metric.
func (b *shardAccounts) tallies() []schemas.MetricTally {
	tallies := make([]schemas.MetricTally, len(b.rules.metrics))
	for m := range tallies {
		tallies[m].Metric = uint32(m)
	}
	for _, d := range b.decided {
		for i, p := range d.delta.Windows {
			tallies[p.Metric].WindowTally.Add(d.delta.Tallies[i])
		}
	}
	return tallies
}
