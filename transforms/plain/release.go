package plain

import (
	"context"
	"fmt"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func init() {
	register.Combiner1[int64](&sumFn{})
	beam.RegisterDoFn(&releaseFn{})
	register.Emitter1[Released]()
	beam.RegisterType(reflect.TypeFor[Released]())
}

// Count adds up the admitted contributions.
//
// In: the output of Filter or FilterBounded, in any windows. Out: KV<[]byte, int64>, in the same
// windows, one element for every metric, window and key when the window closes. These counts are
// exact and not protected.
func (t *Transforms) Count(s beam.Scope, admitted beam.PCollection) beam.PCollection {
	return beam.CombinePerKey(s.Scope("plain.Count"), &sumFn{}, admitted)
}

// sumFn adds counts, up to the greatest count that can be released.
type sumFn struct{}

// MergeAccumulators adds two counts.
func (*sumFn) MergeAccumulators(a, b int64) int64 { return min(a+b, noisereduction.MaxCount) }

// Released is one released count. It is public.
type Released struct {
	Metric                 string
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    string
	Value                  float64 // may be negative
	StdDev                 float64 // standard deviation of the noise
	Low, High              float64 // enclose the count of admitted contributions with Confidence
	Confidence             float64
	NoiseKeyID             string
}

// Release adds the noise to counts.
//
// In: the output of Count. Each element must be released only once, because users have paid for one
// release of each key and window. Out: PCollection<Released>, in the same windows. Private keys at
// or below their threshold are missing.
//
// Low and High enclose the exact count, of admitted events or of distinct users with an admitted
// event, with the metric's confidence. When budgets run out, counts are too low, because the events
// of users who cannot pay are missing.
func (t *Transforms) Release(s beam.Scope, counts beam.PCollection) beam.PCollection {
	return beam.ParDo(s.Scope("plain.Release"), &releaseFn{part: t.part()}, counts)
}

// releaseFn releases a count. The result depends only on settings, secrets and element.
type releaseFn struct {
	part

	noise   noisereduction.NoiseKey
	size    int64 // length of a window
	metrics map[string]*ladder
}

type ladder struct {
	plan       *noisereduction.Plan
	digest     [32]byte
	confidence float64
}

// Setup opens the secrets and compiles the ladders.
func (f *releaseFn) Setup(ctx context.Context) error {
	secrets, err := f.open(ctx)
	if err != nil {
		return err
	}
	metrics, err := f.Settings.compile()
	if err != nil {
		return err
	}
	f.noise, f.size, f.metrics = secrets.Noise, f.Settings.span().size, map[string]*ladder{}
	for i := range metrics {
		m := &metrics[i]
		plan, err := m.plan()
		if err != nil {
			return err
		}
		f.metrics[m.spec.Name] = &ladder{plan, m.spec.Digest(), m.spec.Confidence}
	}
	return nil
}

// ProcessElement releases one count.
func (f *releaseFn) ProcessElement(_ context.Context, cell []byte, n int64, emit func(Released)) error {
	key, err := schemas.DecodeReleaseKey(cell)
	if err != nil {
		return fmt.Errorf("releasing a count: %w", err)
	}
	m := f.metrics[key.Metric]
	if m == nil {
		return fmt.Errorf("releasing a count: its metric is not among the settings")
	}
	r, err := m.plan.Release(f.noise, noisereduction.Identity{
		Incarnation: f.Settings.Incarnation, MetricDigest: m.digest,
		WindowStart: key.WindowStart, WindowEnd: key.WindowStart + f.size, Key: []byte(key.Key),
	}, n)
	if err != nil {
		return fmt.Errorf("releasing a count: %w", err)
	}
	if !r.Passed {
		return nil
	}
	emit(Released{
		Metric: key.Metric, WindowStart: key.WindowStart, WindowEnd: key.WindowStart + f.size, Key: key.Key,
		Value: math.Ldexp(float64(r.Value), -10), StdDev: r.StdDev, Low: r.Low, High: r.High,
		Confidence: m.confidence, NoiseKeyID: f.noise.ID,
	})
	return nil
}
