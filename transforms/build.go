package transforms

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Layout describes how a pipeline is spread over the tasks of an engine, which places elements by
// their keys. The zero value is one reader, and an element for every shard.
type Layout struct {
	// Readers are the keys of READs, one for each group of partitions. They are distinct.
	Readers []int
	// Strands are the keys of the elements that the shards of a turn share, so that an engine whose
	// bundles hold one element waits once for the writes of all shards of a strand. Empty: every
	// shard has an element, whose key is its number.
	Strands []int
}

func (l Layout) readers() []int {
	if len(l.Readers) == 0 {
		return []int{0}
	}
	return l.Readers
}

// strand returns the key under which a shard's blobs are grouped.
func (l Layout) strand(shard int) int {
	if len(l.Strands) == 0 {
		return shard
	}
	return l.Strands[shard%len(l.Strands)]
}

// Build assembles the stages of a run, which is registered in this process, or opened by OpenRuns
// in those that the engine hands its stages to. The pipeline has no output: counts, ledger and
// control are written by the Runtime.
func Build(s beam.Scope, run Run, l Layout) {
	s = s.Scope("tollgate")
	envelopes := Pack(s, read(s, runSource{run}, l))
	partials := Pack(s, spendIn(s, runSpender{run}, l, envelopes))
	acks := Pack(s, releaseIn(s, runReleaser{run}, l, partials))
	Settle(s, runSettler{run}, acks)
}
