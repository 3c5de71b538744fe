package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
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
// data: the same (ε, δ) for each user over all windows, private keys, each at its best setting.
// This product has the noise that plan recommends. Privacy on Beam counts pairs of window and key
// as partitions in one pipeline, so that one budget pays for all of them; half of the budget
// selects the partitions. Its bounds are the best of a search.
func compareErrors(ctx context.Context) (table, error) {
	silence()
	beam.Init()
	dir, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return table{}, fmt.Errorf("comparing errors: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	t := table{
		title:   "Errors of private keys, the same privacy for both",
		columns: []string{"shape", "tollgate: noise ±", "shown", "error", "hidden or wrong", "Privacy on Beam: partitions × events", "shown", "error", "hidden or wrong"},
	}
	for _, s := range shapes.All() {
		if s.Name == "windows" {
			continue // neither shows anything in 10,000 minutes
		}
		shaped.events, shaped.window = s.Events(), s.Window.Milliseconds()
		settings, err := accurate(ctx, s)
		if err != nil {
			return table{}, fmt.Errorf("planning %s: %w", s.Name, err)
		}
		const keys = 3
		var ours shapes.Measured
		for key := range keys {
			m, err := shapes.Measure(ctx, dir, s, shaped.events, settings, uint64(key))
			if err != nil {
				return table{}, err
			}
			ours.Truth, ours.Counts = m.Truth, m.Counts
			ours.Shown += m.Shown / keys
			ours.ShownTruth += m.ShownTruth / keys
			ours.RelativeError += m.RelativeError / keys
		}
		bounds, theirs, err := privateErrors(ctx)
		if err != nil {
			return table{}, fmt.Errorf("running Privacy on Beam on %s: %w", s.Name, err)
		}
		row := []any{s.Name, fmt.Sprintf("%.0f", settings.Target.Absolute)}
		row = append(row, errorCells(&ours)...)
		row = append(row, fmt.Sprintf("%d × %d", bounds[0], bounds[1]))
		t.rows = append(t.rows, append(row, errorCells(theirs)...))
	}
	return t, nil
}

func errorCells(m *shapes.Measured) []any {
	return []any{fmt.Sprintf("%.0f of %.0f", m.Shown, m.Counts), tenths(m.RelativeError), tenths(hiddenOrWrong(m))}
}

func hiddenOrWrong(m *shapes.Measured) float64 {
	return 1 - m.ShownTruth/m.Truth + min(1, m.RelativeError)*m.ShownTruth/m.Truth
}

func settingsOf(s choice.Setting) demo.Settings {
	return demo.Settings{Epsilon: epsilon, Delta: delta, Accountant: "gdp", Window: s.Window, Lasts: s.Lasts,
		Target: noisereduction.Target{Absolute: 1.96 * s.Noise, Confidence: .95}}
}

// accurate returns the setting that plan recommends.
func accurate(ctx context.Context, s shapes.Shape) (demo.Settings, error) {
	events := choice.NewEvents([32]byte{1}, 0, 0, "")
	defer events.Close() //nolint:errcheck // temporary
	for _, e := range shaped.events {
		if err := events.Add([]byte(e.User), []byte(e.Key), e.At.UnixMilli(), 0); err != nil {
			return demo.Settings{}, err
		}
	}
	a, err := events.Advise(ctx, choice.Question{Sizes: []time.Duration{s.Window}, Given: choice.Setting{Epsilon: epsilon},
		Compile: func(s choice.Setting) (*pipeline.Deployment, error) { return settingsOf(s).Compile() }})
	if err != nil {
		return demo.Settings{}, err
	}
	return settingsOf(a.Best.Setting), nil
}

// privateErrors counts the shape with Privacy on Beam, with the bounds that hide the least or are
// wrong by the least: quantiles of how many partitions a user has, and of the events in each.
func privateErrors(ctx context.Context) (bounds [2]int64, best *shapes.Measured, err error) {
	type contribution struct{ user, partition string }
	events, users := map[contribution]int64{}, map[string]int64{}
	for _, e := range shaped.events {
		c := contribution{e.User, partitionOf(e)}
		if events[c]++; events[c] == 1 {
			users[e.User]++
		}
	}
	partitions, each := slices.Sorted(maps.Values(users)), slices.Sorted(maps.Values(events))
	for _, most := range quantiles(partitions, .25, .5, .75, .9, .97, 1) {
		for _, value := range quantiles(each, .5, .75, .9, .97, 1) {
			m, err := private(ctx, most, value)
			if err != nil {
				return bounds, nil, err
			}
			if best == nil || hiddenOrWrong(m) < hiddenOrWrong(best) {
				bounds, best = [2]int64{most, value}, m
			}
		}
	}
	return bounds, best, nil
}

// quantiles returns those of a list in order, each once.
func quantiles(sorted []int64, ranks ...float64) (all []int64) {
	for _, q := range ranks {
		all = append(all, sorted[int(q*float64(len(sorted)-1))])
	}
	return slices.Compact(all)
}

// private counts the shape with Privacy on Beam with bounds.
func private(ctx context.Context, partitions, events int64) (*shapes.Measured, error) {
	counts, err := privateCounts(ctx, partitions, events)
	if err != nil {
		return nil, err
	}
	truth, m := map[string]float64{}, &shapes.Measured{}
	for _, e := range shaped.events {
		truth[partitionOf(e)]++
		m.Truth++
	}
	m.Counts = float64(len(truth))
	wrong := 0.0
	for _, c := range counts {
		m.Shown++
		m.ShownTruth += truth[c.key]
		wrong += math.Abs(c.value - truth[c.key])
	}
	m.RelativeError = wrong / max(1, m.ShownTruth)
	return m, nil
}

// privateCounts are those of Privacy on Beam: one pipeline over all windows.
func privateCounts(ctx context.Context, partitions, events int64) ([]count, error) {
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{
		AggregationEpsilon: 0.5 * epsilon, AggregationDelta: 0.5 * delta, PartitionSelectionEpsilon: 0.5 * epsilon, PartitionSelectionDelta: 0.5 * delta,
	})
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	users := beam.ParDo(s, &shapedFn{}, beam.Impulse(s))
	counts := pbeam.Count(s, pbeam.MakePrivate(s, users, spec), pbeam.CountParams{
		NoiseKind: pbeam.GaussianNoise{}, MaxPartitionsContributed: partitions, MaxValue: events, AllowNegativeOutputs: true,
	})
	beam.ParDo0(s, &privateFn{}, counts)
	collected.counts = nil
	err = runDirect(ctx, p)
	return collected.counts, err
}
