package release

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/runs"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// partialGroup holds the partial counts of one turn and release shard, sorted by account shard.
type partialGroup []schemas.Partial

// newestPartials decodes the partial counts of the newest epoch among the blobs, one for each
// account shard. If an engine repeats a turn within an epoch, the blobs are identical.
func newestPartials(blobs [][]byte) (partialGroup, error) {
	newest := int64(-1)
	for _, b := range blobs {
		_, epoch, _, err := schemas.PeekEpoch(b)
		if err != nil {
			return nil, fmt.Errorf("reading partial counts: %w", err)
		}
		newest = max(newest, epoch)
	}
	var partials partialGroup
	for _, b := range blobs {
		if _, epoch, _, err := schemas.PeekEpoch(b); err != nil || epoch != newest {
			continue
		}
		p, err := schemas.DecodePartial(b)
		if err != nil {
			return nil, fmt.Errorf("reading partial counts: %w", err)
		}
		partials = append(partials, p)
	}
	slices.SortStableFunc(partials, func(a, b schemas.Partial) int { return cmp.Compare(a.Shard, b.Shard) })
	same := func(a, b schemas.Partial) bool { return a.Shard == b.Shard && a.Turn == b.Turn }
	return slices.CompactFunc(partials, same), nil
}

// Complete reports whether the group contains one turn's partial counts from every account shard.
func (p partialGroup) Complete() bool {
	if len(p) == 0 || len(p) != int(p[0].Shards) {
		return false
	}
	for i := range p {
		if p[i].Shard != uint32(i) || p[i].Turn != p[0].Turn {
			return false
		}
	}
	return true
}

// Balanced returns a *spend.StopError if READ and SPEND have counted different records in a group.
func (p partialGroup) Balanced(shard int) error {
	var sum uint64
	for i := range p {
		sum += p[i].Records
	}
	if sum != p[0].Total {
		return &spend.StopError{Shard: shard, Turn: p[0].Turn,
			Reason: "READ and SPEND counted different numbers of records: the engine has lost or repeated some"}
	}
	return nil
}

// Tallies adds up the tallies of the account shards by metric.
func (p partialGroup) Tallies() []schemas.MetricTally {
	var sum []schemas.MetricTally
	for i := range p {
		for j, t := range p[i].Tallies {
			if len(sum) <= j {
				sum = append(sum, schemas.MetricTally{Metric: t.Metric})
			}
			sum[j].Add(t.WindowTally)
		}
	}
	return sum
}

// cellID identifies a count.
type cellID struct {
	Metric     uint32
	Start, End int64 // Unix milliseconds
	Key        string
}

// Compare orders cells by window, then metric, then key.
func (c cellID) Compare(o cellID) int {
	order := cmp.Or(cmp.Compare(c.End, o.End), cmp.Compare(c.Start, o.Start), cmp.Compare(c.Metric, o.Metric))
	if order != 0 {
		return order
	}
	return cmp.Compare(c.Key, o.Key)
}

// cellCount is the sum of the partial counts of all account shards in a cell.
type cellCount struct {
	cellID
	Sum int64
}

// Counts adds up the partial counts of the account shards, and clamps the sums to the range of
// releases. A shard may have several partial counts for a cell. A clamp of the exact sum never
// increases a user's influence on the sum. A clamp before the last addition would make the sum
// depend on the user's shard. The result has one count for each cell, and is sorted by cell.
func (p partialGroup) Counts() []cellCount {
	cells := 0
	for i := range p {
		cells += len(p[i].Cells)
	}
	refs := make([]*schemas.Cell, 0, cells)
	for i := range p {
		for j := range p[i].Cells {
			refs = append(refs, &p[i].Cells[j])
		}
	}
	refs, _ = runs.Sort(refs, nil, compareCells)
	counts := make([]cellCount, 0, cells/max(1, len(p)))
	for i := 0; i < len(refs); {
		first := refs[i]
		var sum int128.Int
		for ; i < len(refs) && compareCells(refs[i], first) == 0; i++ {
			sum = sum.Add(refs[i].Count)
		}
		cell := cellID{first.Metric, first.WindowStart, first.WindowEnd, string(first.Key)}
		counts = append(counts, cellCount{cell, releasable(sum)})
	}
	return counts
}

// compareCells compares the cells of partial counts like cellID.Compare.
func compareCells(a, b *schemas.Cell) int {
	switch {
	case a.WindowEnd != b.WindowEnd:
		return cmp.Compare(a.WindowEnd, b.WindowEnd)
	case a.WindowStart != b.WindowStart:
		return cmp.Compare(a.WindowStart, b.WindowStart)
	case a.Metric != b.Metric:
		return cmp.Compare(a.Metric, b.Metric)
	}
	return bytes.Compare(a.Key, b.Key)
}

// releasable clamps a sum to the range that can be released.
func releasable(sum int128.Int) int64 {
	return sum.Clamp(-noisereduction.MaxCount, noisereduction.MaxCount)
}

// newestAcks decodes the acknowledgements of the newest epoch. Their indexes are the release
// shards. It returns nil if an acknowledgement is missing.
func newestAcks(blobs [][]byte) ([]schemas.Ack, error) {
	var acks []schemas.Ack
	newest := int64(-1)
	for _, b := range blobs {
		a, err := schemas.DecodeAck(b)
		if err != nil {
			return nil, fmt.Errorf("reading acknowledgements: %w", err)
		}
		if a.Epoch > newest {
			newest, acks = a.Epoch, make([]schemas.Ack, a.ReleaseShards)
		}
		if a.Epoch == newest && int(a.ReleaseShard) < len(acks) {
			acks[a.ReleaseShard] = a
		}
	}
	for i := range acks {
		if acks[i].Turn == 0 || acks[i].Turn != acks[0].Turn {
			return nil, nil
		}
	}
	return acks, nil
}

// settledOf returns the SETTLED record of a turn. The record contains the acknowledged keys, and
// the precisions that users pay for keys that were not released.
func settledOf(metrics []schemas.MetricSpec, acks []schemas.Ack) schemas.Settled {
	head := &acks[0]
	settled := schemas.Settled{Epoch: head.Epoch, Turn: head.Turn, CountsEnd: make([]int64, len(acks))}
	for i := range metrics {
		settled.FirstRungs = append(settled.FirstRungs, metrics[i].First)
		settled.Tallies = append(settled.Tallies, schemas.MetricTally{Metric: uint32(i)})
	}
	for i, a := range acks {
		settled.CountsEnd[i] = a.CountsEnd
		settled.Keys = append(settled.Keys, a.Keys...)
		// The partial counts of release shard 0 contain the tallies of every account shard.
		for _, t := range a.Tallies {
			if int(t.Metric) < len(settled.Tallies) {
				settled.Tallies[t.Metric] = t
			}
		}
	}
	return settled
}
