package localrunner_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/tollgate-dp/tollgate/internal/localrunner"
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
	register.Function1x2(keyed)
	register.Emitter1[string]()
}

func keyed(key string) (string, int64) { return key, 1 }

// slowFn counts the visits of a key in its state. Some keys are slow in the second round, as on a
// busy machine.
type slowFn struct{ Count state.Value[int64] }

func (f *slowFn) ProcessElement(p state.Provider, key string, n int64, emit func(string)) error {
	before, _, err := f.Count.Read(p)
	if err != nil {
		return err
	}
	if before == 1 && key < "key 05" {
		time.Sleep(500 * time.Millisecond)
	}
	emit(fmt.Sprintf("%s: %d", key, before+n))
	return f.Count.Write(p, before+n)
}

func TestStateOutlivesSlowBundles(t *testing.T) {
	localrunner.Keep()
	const keys, rounds = 40, 4
	stream := teststream.NewConfig()
	var want []any
	for round := range rounds {
		var all []any
		for k := range keys {
			key := fmt.Sprintf("key %02d", k)
			all, want = append(all, key), append(want, fmt.Sprintf("%s: %d", key, round+1))
		}
		if err := stream.AddElements(int64(round), all...); err != nil {
			t.Fatal(err)
		}
		stream.AdvanceWatermark(int64(round + 1))
	}
	stream.AdvanceWatermarkToInfinity()
	ptest.BuildAndRun(t, func(s beam.Scope) {
		visits := beam.ParDo(s, keyed, teststream.Create(s, stream))
		passert.Equals(s, beam.ParDo(s, &slowFn{Count: state.MakeValueState[int64]("count")}, visits), want...)
	})
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
