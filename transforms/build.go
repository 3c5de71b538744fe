package transforms

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Build assembles the stages of a run whose Runtime is registered under run.
// The pipeline has no output: counts, ledger and control are written by the
// Runtime.
func Build(s beam.Scope, run string) {
	s = s.Scope("tollgate")
	envelopes := Pack(s, Read(s, runSource{run}))
	partials := Pack(s, Spend(s, runSpender{run}, envelopes))
	acks := Pack(s, Release(s, runReleaser{run}, partials))
	Settle(s, runSettler{run}, acks)
}
