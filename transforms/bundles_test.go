package transforms

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/tollgate-dp/tollgate/internal/localrunner"
)

// noAccounts is a hook that is never opened.
type noAccounts struct{}

func (noAccounts) Open(context.Context) (StateSpender, error) { return nil, errors.New("never run") }

func init() { beam.RegisterType(reflect.TypeFor[noAccounts]()) }

// A job that keeps accounts as keyed state asks for bundles that are not split: the
// local runner would lose some.
func TestRuleAccountsInKeyedStateAreNotSplit(t *testing.T) {
	before := *jobopts.Experiments
	defer func() { *jobopts.Experiments = before }()
	for name, life := range map[string]Life{"durable": Durable, "ephemeral": Ephemeral} {
		*jobopts.Experiments = ""
		_, s := beam.NewPipelineWithRoot()
		SpendInState(s, noAccounts{}, life, Pack(s, Read(s, runSource{Run{ID: "never run"}}, 1)))
		if !slices.Contains(jobopts.GetExperiments(), localrunner.Experiment) {
			t.Errorf("%s: the job allows splits", name)
		}
	}
}
