package transforms

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Layout describes how a pipeline is spread over the tasks of an engine, which places elements by
// their keys. The zero value means one reader, and one element for every shard.
type Layout struct {
	// Readers are the keys of READ's elements, one for each group of partitions. They are distinct.
	Readers []int
	// Strands are the keys of elements that several shards of a turn share, so that an engine whose
	// bundles hold one element waits only once for the writes of all shards of a strand. If it is
	// empty, every shard has its own element, whose key is the shard's number.
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

// Build assembles the stages of a run. The run is registered in this process; in other processes
// that the engine uses, OpenRuns opens it. The pipeline has no output: the Runtime writes counts,
// ledger and control.
func Build(s beam.Scope, run Run, l Layout) {
	s = s.Scope("tollgate")
	envelopes := Pack(s, read(s, runSource{run}, l))
	partials := Pack(s, spendIn(s, runSpender{run}, l, envelopes))
	acks := Pack(s, releaseIn(s, runReleaser{run}, l, partials))
	Settle(s, runSettler{run}, acks)
}
