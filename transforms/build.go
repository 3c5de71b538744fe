package transforms

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Layout describes how a pipeline is distributed over the tasks of an engine, which assigns
// elements to tasks by their keys. The zero value means one reader and an element for every shard.
type Layout struct {
	// Readers are the distinct keys of READ's elements, one for each group of partitions.
	Readers []int
	// Strands are the keys of elements that several shards of a turn share. An engine with one
	// element in each bundle then waits only once for the writes of all shards of a strand. If
	// Strands is empty, every shard has its own element, whose key is the shard's number.
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

// Build adds the stages of a run to a pipeline. The run must be registered in this process. In
// other processes of the engine, the Opener of OpenRuns opens it. The pipeline has no output: the
// Runtime writes counts, ledger and control.
func Build(s beam.Scope, run Run, l Layout) {
	s = s.Scope("tollgate")
	envelopes := Pack(s, read(s, runSource{run}, l))
	partials := Pack(s, spendIn(s, runSpender{run}, l, envelopes))
	acks := Pack(s, releaseIn(s, runReleaser{run}, l, partials))
	Settle(s, runSettler{run}, acks)
}
