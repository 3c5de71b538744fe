package transforms

import (
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/tollgate-dp/tollgate/internal/localrunner"
)

// A job that keeps accounts as keyed state asks for bundles that are not split: the
// local runner would lose some.
func TestRuleAccountsInKeyedStateAreNotSplit(t *testing.T) {
	before := *jobopts.Experiments
	defer func() { *jobopts.Experiments = before }()
	*jobopts.Experiments = ""
	_, s := beam.NewPipelineWithRoot()
	Build(s, "never run")
	if !slices.Contains(jobopts.GetExperiments(), localrunner.Experiment) {
		t.Error("the job allows splits")
	}
}
