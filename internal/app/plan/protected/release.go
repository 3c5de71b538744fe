package protected

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Release is the protected result of a choice. Numbers of individuals are noisy, and may be below
// 0.
type Release struct {
	ID            [32]byte    // keyed hash of the arguments under the noise key; independent of the data
	Shape         [][]float64 // individuals, by row of keys and row of events
	Windows       []float64   // individuals, by row of windows
	Values        []float64   // individuals, by row of values; nil without values
	Keys          []NamedKey  // those that passed the threshold, the most frequent first
	ShapeSigma    float64     // standard deviation of the noise on each number; so are the next three
	WindowsSigma  float64
	ValuesSigma   float64
	KeysSigma     float64
	KeysThreshold float64

	o Options
}

// NamedKey is a key that passed the threshold, and the number of individuals who have it among
// their most frequent ones.
type NamedKey struct {
	Name        string
	Individuals float64
}

// empty returns the release without its tables.
func (c *Choice) empty() (*Release, error) {
	arguments, err := c.arguments()
	if err != nil {
		return nil, err
	}
	r := &Release{ID: secret.Keyed(c.o.Key.Secret.Reveal(), "tollgate plan choice v2", arguments[:], make([]byte, 32)), o: c.o,
		ShapeSigma: sigma(c.prices.shape), WindowsSigma: sigma(c.prices.windows)}
	if c.o.Values {
		r.ValuesSigma = sigma(c.prices.values)
	}
	if c.public == nil {
		keys, err := c.keysPlan()
		if err != nil {
			return nil, err
		}
		r.KeysSigma, r.KeysThreshold = sigma(c.prices.keys), keys.Threshold()
	}
	return r, nil
}

func (c *Choice) keysPlan() (*noisereduction.Plan, error) {
	return once(c.prices.keys, &noisereduction.Private{Contribution: 1, DeltaKey: c.prices.deltaKey})
}

// Release adds noise to the tables. Use a noise key for one choice only.
func (c *Choice) Release() (*Release, error) {
	t, err := c.tables()
	if err != nil {
		return nil, err
	}
	r, err := c.empty()
	if err != nil {
		return nil, err
	}
	noise := t.identity(c.o.Key.Secret.Reveal(), r.ID)
	draw := func(plan *noisereduction.Plan, table, cell string, count int64) (noisereduction.Result, error) {
		digest := sha256.Sum256([]byte("tollgate plan table " + table))
		return plan.Release(noisereduction.NoiseKey{ID: c.o.Key.ID, Secret: secret.New(secret.Keyed(c.o.Key.Secret.Reveal(), "tollgate plan noise key v1"))},
			noisereduction.Identity{Incarnation: noise, MetricDigest: digest, Key: []byte(cell)}, count)
	}
	shape, err := once(c.prices.shape, nil)
	if err != nil {
		return nil, err
	}
	for i := range t.shape {
		r.Shape = append(r.Shape, make([]float64, len(eventRows)))
		for j, n := range t.shape[i] {
			got, err := draw(shape, "of keys and events", fmt.Sprint(i, " ", j), n)
			if err != nil {
				return nil, err
			}
			r.Shape[i][j] = math.Ldexp(float64(got.Value), -10)
		}
	}
	line := func(u units.Precision, table string, counts []int64) ([]float64, error) {
		plan, err := once(u, nil)
		if err != nil {
			return nil, err
		}
		out := make([]float64, len(counts))
		for i, n := range counts {
			got, err := draw(plan, table, fmt.Sprint(i), n)
			if err != nil {
				return nil, err
			}
			out[i] = math.Ldexp(float64(got.Value), -10)
		}
		return out, nil
	}
	if r.Windows, err = line(c.prices.windows, "of windows", t.windows); err != nil {
		return nil, err
	}
	if t.values != nil {
		if r.Values, err = line(c.prices.values, "of values", t.values); err != nil {
			return nil, err
		}
	}
	if c.public != nil {
		return r, nil
	}
	keys, err := c.keysPlan()
	if err != nil {
		return nil, err
	}
	for k, n := range t.keys {
		got, err := draw(keys, "of keys", k, n)
		if err != nil {
			return nil, err
		}
		if got.Passed {
			r.Keys = append(r.Keys, NamedKey{k, math.Ldexp(float64(got.Value), -10)})
		}
	}
	slices.SortFunc(r.Keys, func(a, b NamedKey) int {
		if a.Individuals != b.Individuals && a.Individuals > b.Individuals || a.Individuals == b.Individuals && a.Name < b.Name {
			return -1
		}
		return 1
	})
	return r, nil
}

// identity makes the noise of a release that of its tables, too: tables that differ share no noise.
func (t *tables) identity(key, id [32]byte) [16]byte {
	parts := [][]byte{id[:], fmt.Append(nil, t.shape, t.windows, t.values)}
	for _, name := range slices.Sorted(maps.Keys(t.keys)) {
		parts = append(parts, []byte(name), fmt.Append(nil, t.keys[name]))
	}
	sum := secret.Keyed(key, "tollgate plan noise v2", parts...)
	return [16]byte(sum[:16])
}

func sigma(u units.Precision) float64 { return 1 / math.Sqrt(u.Float()) }

// once returns the plan of a release at one precision.
func once(u units.Precision, private *noisereduction.Private) (*noisereduction.Plan, error) {
	plan, err := noisereduction.Compile(noisereduction.Spec{Kind: noisereduction.Geometric, Factor: 2, First: u, Top: u,
		Target: noisereduction.Target{Confidence: .95}, Private: private})
	if err != nil {
		return nil, fmt.Errorf("choosing bounds: %w", err)
	}
	return plan, nil
}
