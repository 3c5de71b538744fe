package transforms

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Build assembles the stages of a run whose Runtime is registered under run.
// The pipeline has no output: counts, ledger and control are written by the
// Runtime.
func Build(s beam.Scope, run string) {
	s = s.Scope("tollgate")
	read := beam.ParDo(s.Scope("read"), &readFn{bound: bound{Run: run}}, beam.Impulse(s))

	pack := s.Scope("pack")
	envelopes := group(pack, read)

	spend := s.Scope("spend")
	partials := beam.ParDo(spend, newSpendFn(run), envelopes)

	release := s.Scope("release")
	acks := beam.ParDo(release, &releaseFn{bound: bound{Run: run}}, group(release, partials))

	settle := s.Scope("settle")
	beam.ParDo0(settle, &settleFn{bound: bound{Run: run}}, group(settle, acks))
}

// group makes one element of what a shard has in a tick, in the global window
// with the tick's event time.
func group(s beam.Scope, col beam.PCollection) beam.PCollection {
	return inGlobal(s, beam.ParDo(s, &packFn{}, beam.GroupByKey(s, inTicks(s, col))))
}
