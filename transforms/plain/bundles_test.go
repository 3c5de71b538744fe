package plain

import (
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/localrunner"
)

// The accounts of the plain form are kept in keyed state and nowhere else.
func TestRuleAccountsInKeyedStateAreNotSplit(t *testing.T) {
	before := *jobopts.Experiments
	defer func() { *jobopts.Experiments = before }()
	*jobopts.Experiments = ""
	_, s := beam.NewPipelineWithRoot()
	mustTransforms(t, testSettings(t, 1)).Filter(s, source(s, nil))
	if !slices.Contains(jobopts.GetExperiments(), localrunner.Experiment) {
		t.Error("the job allows splits")
	}
}
