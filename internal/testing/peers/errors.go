package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// shaped are the events of the shape that is counted: the DoFn runs in this process.
var shaped struct {
	events []shapes.Event
	window int64 // milliseconds
}

func init() { register.DoFn2x1[[]byte, func(string, string), error](&shapedFn{}) }

// shapedFn emits every event's user, and its window and key together.
type shapedFn struct{}

// ProcessElement implements Beam's DoFn.
func (*shapedFn) ProcessElement(_ []byte, emit func(string, string)) error {
	for _, e := range shaped.events {
		emit(e.User, partitionOf(e))
	}
	return nil
}

func partitionOf(e shapes.Event) string {
	return fmt.Sprint(e.At.UnixMilli()/shaped.window, "|", e.Key)
}

// compareErrors sets the errors of this product beside those of Privacy on Beam on ten shapes of
// data: the same (ε, δ) for each user over all windows, the same bounds (those of the setting
// that plan recommends), private keys. Privacy on Beam counts pairs of window and key as
// partitions in one pipeline, so that one budget pays for all of them; a user contributes to as
// many as here to keys in the windows that the budget lasts for; half of the budget selects the
// partitions.
func compareErrors(ctx context.Context) (table, error) {
	silence()
	beam.Init()
	dir, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return table{}, fmt.Errorf("comparing errors: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	t := table{
		title:   "Errors of private keys, the same privacy and bounds for both",
		columns: []string{"shape", "bounds, windows", "tollgate: shown", "error", "hidden or wrong", "Privacy on Beam: shown", "error", "hidden or wrong"},
	}
	for _, s := range shapes.All() {
		if s.Name == "windows" {
			continue // neither shows anything in 10,000 minutes
		}
		shaped.events, shaped.window = s.Events(), s.Window.Milliseconds()
		setting, err := accurate(ctx, s)
		if err != nil {
			return table{}, fmt.Errorf("planning %s: %w", s.Name, err)
		}
		const keys = 3
		var ours shapes.Measured
		for key := range keys {
			m, err := shapes.Measure(ctx, dir, s, shaped.events, settingsOf(setting), uint64(key))
			if err != nil {
				return table{}, err
			}
			ours.Truth, ours.Counts = m.Truth, m.Counts
			ours.Shown += m.Shown / keys
			ours.ShownTruth += m.ShownTruth / keys
			ours.RelativeError += m.RelativeError / keys
		}
		theirs, err := privateErrors(ctx, setting)
		if err != nil {
			return table{}, fmt.Errorf("running Privacy on Beam on %s: %w", s.Name, err)
		}
		row := []any{s.Name, fmt.Sprintf("%d × %d, %d", setting.KeysPerUser, setting.EventsPerKey, setting.LastAtLeast)}
		for _, m := range []*shapes.Measured{&ours, theirs} {
			wrong := 1 - m.ShownTruth/m.Truth + min(1, m.RelativeError)*m.ShownTruth/m.Truth
			row = append(row, fmt.Sprintf("%.0f of %.0f", m.Shown, m.Counts), tenths(m.RelativeError), tenths(wrong))
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

func settingsOf(s advice.Setting) demo.Settings {
	return demo.Settings{Epsilon: epsilon, Delta: delta, Accountant: "gdp", Window: s.Window, Target: noisereduction.Target{Relative: s.Relative, Confidence: .95},
		MaxKeysPerUser: s.KeysPerUser, MaxEventsPerKey: s.EventsPerKey, LastAtLeast: s.LastAtLeast}
}

// accurate returns the setting that plan recommends.
func accurate(ctx context.Context, s shapes.Shape) (advice.Setting, error) {
	c := sample.NewCollector(sample.Options{Step: s.Window})
	for _, e := range shaped.events {
		c.Add([]byte(e.User), []byte(e.Key), e.At.UnixMilli())
	}
	a, err := advice.Answer(ctx, advice.Question{Sample: c.Sample(), Sizes: append(advice.Usual[:0:0], s.Window), Given: advice.Setting{Epsilon: epsilon},
		Terms:   advice.Terms{Delta: delta, Target: noisereduction.Target{Relative: .1, Confidence: .95}},
		Compile: func(s advice.Setting) (*pipeline.Deployment, error) { return settingsOf(s).Compile() }})
	if err != nil {
		return advice.Setting{}, err
	}
	return a.Block.Point.Setting, nil
}

// privateErrors counts the shape with Privacy on Beam.
func privateErrors(ctx context.Context, setting advice.Setting) (*shapes.Measured, error) {
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{
		AggregationEpsilon: 0.5 * epsilon, AggregationDelta: 0.5 * delta, PartitionSelectionEpsilon: 0.5 * epsilon, PartitionSelectionDelta: 0.5 * delta,
	})
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	users := beam.ParDo(s, &shapedFn{}, beam.Impulse(s))
	counts := pbeam.Count(s, pbeam.MakePrivate(s, users, spec), pbeam.CountParams{
		NoiseKind: pbeam.GaussianNoise{}, MaxPartitionsContributed: int64(setting.KeysPerUser * setting.LastAtLeast), MaxValue: int64(setting.EventsPerKey),
		AllowNegativeOutputs: true,
	})
	beam.ParDo0(s, &privateFn{}, counts)
	collected.counts = nil
	if err := runDirect(ctx, p); err != nil {
		return nil, err
	}
	truth, m := map[string]float64{}, &shapes.Measured{}
	for _, e := range shaped.events {
		truth[partitionOf(e)]++
		m.Truth++
	}
	m.Counts = float64(len(truth))
	wrong := 0.0
	for _, c := range collected.counts {
		m.Shown++
		m.ShownTruth += truth[c.key]
		wrong += math.Abs(c.value - truth[c.key])
	}
	m.RelativeError = wrong / max(1, m.ShownTruth)
	return m, nil
}
