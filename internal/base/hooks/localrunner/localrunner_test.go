package localrunner_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/localrunner"
)

type silent struct{}

func (silent) Log(context.Context, beamlog.Severity, int, string) {}

func TestMain(m *testing.M) {
	beamlog.SetLogger(silent{})
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ptest.MainWithDefault(m, "prism")
}

func init() {
	beam.RegisterDoFn(&slowFn{})
	register.Function2x0(visits)
	register.Emitter2[string, int]()
}

const visitsOfOneKey = 8

// visits emits them all in one bundle.
func visits(_ []byte, emit func(string, int)) {
	for range visitsOfOneKey {
		emit("key", 1)
	}
}

// last is the greatest number that slowFn counted to.
var last atomic.Int64

// slowFn counts visits in its state. It is so slow, as on a busy machine, that the runner twice
// sees no progress and splits the bundle.
type slowFn struct{ Count state.Value[int] }

func (f *slowFn) ProcessElement(p state.Provider, _ string, n int) error {
	before, _, err := f.Count.Read(p)
	if err != nil {
		return err
	}
	time.Sleep(250 * time.Millisecond)
	last.Store(max(last.Load(), int64(before+n)))
	return f.Count.Write(p, before+n)
}

// counted returns how many visits of one key its state remembers after a run with experiments.
func counted(t *testing.T, experiments string) int64 {
	t.Helper()
	before := *jobopts.Experiments
	defer func() { *jobopts.Experiments = before }()
	*jobopts.Experiments = experiments
	last.Store(0)
	ptest.BuildAndRun(t, func(s beam.Scope) {
		beam.ParDo0(s, &slowFn{Count: state.MakeValueState[int]("count")}, beam.ParDo(s, visits, beam.Impulse(s)))
	})
	return last.Load()
}

func TestStateOutlivesSlowBundles(t *testing.T) {
	before := *jobopts.Experiments
	defer func() { *jobopts.Experiments = before }()
	localrunner.Keep()
	if n := counted(t, *jobopts.Experiments); n != visitsOfOneKey {
		t.Errorf("%d visits were counted as %d", visitsOfOneKey, n)
	}
}

// TestPrismStillLosesState notices if a newer Beam keeps the state of bundles that it splits. It
// fails falsely only if no bundle is split in three runs, each with twenty ticks for the runner to
// do so.
func TestPrismStillLosesState(t *testing.T) {
	for range 3 {
		if counted(t, "") < visitsOfOneKey {
			return
		}
	}
	t.Error("prism keeps the state of bundles that it splits: take Keep with its calls, and the second section of " +
		"docs/prism.md, away")
}

func TestKeepAddsItOnce(t *testing.T) {
	before := *jobopts.Experiments
	defer func() { *jobopts.Experiments = before }()
	for given, want := range map[string]string{
		"":                     localrunner.Experiment,
		"a,b":                  "a,b," + localrunner.Experiment,
		localrunner.Experiment: localrunner.Experiment,
	} {
		*jobopts.Experiments = given
		localrunner.Keep()
		localrunner.Keep()
		if *jobopts.Experiments != want {
			t.Errorf("%q became %q, want %q", given, *jobopts.Experiments, want)
		}
	}
}
