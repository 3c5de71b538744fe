package spend

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// partials adds up what the admitted users contributed, one blob per release
// shard, also when it is empty: a release shard counts its blobs. The order of
// cells is that of pairs and keys.
func (b *book) partials(n int, open *schemas.Open) ([]Blob, error) {
	counts, err := b.counts()
	if err != nil {
		return nil, err
	}
	shards := b.rules.ReleaseShards
	cells := make([][]schemas.Cell, shards)
	for i, p := range b.delta.Pairs {
		name := b.rules.metrics[p.Metric].spec.Name
		for k, count := range counts[i] {
			if count == 0 {
				continue
			}
			key := b.delta.Keys[k]
			to := schemas.ReleaseShardOf(name, p.WindowStart, p.WindowEnd, key, shards)
			cells[to] = append(cells[to], schemas.Cell{Metric: p.Metric, WindowStart: p.WindowStart, WindowEnd: p.WindowEnd, Key: key, Count: count})
		}
	}
	blobs := make([]Blob, shards)
	for r := range blobs {
		partial := schemas.Partial{
			Epoch: open.Epoch, Turn: open.Turn,
			Shard: uint32(n), Shards: open.Shards,
			ReleaseShard: uint32(r), ReleaseShards: uint32(shards),
			Records: b.delta.Records, Total: open.Contributions,
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

// counts is the admitted count per pair and key.
func (b *book) counts() ([][]uint64, error) {
	counts := make([][]uint64, len(b.delta.Pairs))
	for i := range counts {
		counts[i] = make([]uint64, len(b.delta.Keys))
	}
	for i := range b.delta.Users {
		u := &b.delta.Users[i]
		for p, pair := range b.delta.Pairs {
			if !u.Admitted.Get(p) {
				continue
			}
			m, err := b.metric(pair)
			if err != nil {
				return nil, err
			}
			kept, _ := b.clip.keep(m, u.ID, u.Period, b.delta.Keys, u.Slice)
			for _, k := range kept {
				counts[p][k.Key] += uint64(k.N)
			}
		}
	}
	return counts, nil
}

// tallies adds up the decided turn's tallies by metric.
func (b *book) tallies() []schemas.MetricTally {
	tallies := make([]schemas.MetricTally, len(b.rules.metrics))
	for m := range tallies {
		tallies[m].Metric = uint32(m)
	}
	for i, p := range b.delta.Pairs {
		addTally(&tallies[p.Metric].PairTally, b.delta.Tallies[i])
	}
	return tallies
}
