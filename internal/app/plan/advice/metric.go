package advice

import (
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// OfMetric returns what a Question compiles with to plan one metric of a configuration, which has
// it. Each deployment has that metric alone, with the part of the budget that its lifetime can
// take: users are forecast as if the other metrics took all of theirs.
func OfMetric(cfg deployment.Config, name string) func(Setting) (*deployment.Deployment, error) {
	return func(s Setting) (*deployment.Deployment, error) {
		tried := cfg
		tried.Privacy.Epsilon = s.Epsilon
		tried.LedgerSlots, tried.CatchUp = 0, 0 // by the windows that are tried
		tried.Metrics = slices.Clone(cfg.Metrics)
		i := slices.IndexFunc(tried.Metrics, func(m deployment.Metric) bool { return m.Name == name })
		m := &tried.Metrics[i]
		m.Window, m.Slide = s.Window, s.Window
		m.MaxKeysPerUser, m.MaxEventsPerKey, m.LastAtLeast = s.KeysPerUser, s.EventsPerKey, s.LastAtLeast
		m.Target.Relative = s.Relative
		if metrickind.Of(m.Kind).Values {
			m.Min, m.Max = s.Min, s.Max
		}
		if s.Together {
			m.Keys = deployment.Keys{Mode: deployment.KeysPublic, List: []string{""}}
		}
		d, err := deployment.Compile(tried)
		if err != nil {
			return nil, err
		}
		if len(d.Metrics) > 1 {
			alone(d, name, s)
		}
		return d, nil
	}
}

// alone leaves one metric in a deployment, with its part of the budget.
func alone(d *deployment.Deployment, name string, s Setting) {
	i := slices.IndexFunc(d.Metrics, func(m deployment.CompiledMetric) bool { return m.Spec.Name == name })
	rest := d.Metrics[i+1:]
	d.Metrics = d.Metrics[i : i+1 : i+1]
	for _, m := range rest {
		if m.Spec.Of == name && metrickind.Of(m.Spec.Kind).Statistic != nil {
			d.Metrics = append(d.Metrics, m)
		}
	}
	spec := &d.Metrics[0].Spec
	pairs := uint64(s.KeysPerUser) * uint64(s.LastAtLeast)
	worst, fits := units.Charge(uint64(metrickind.Of(spec.Kind).Sensitivity(spec.Bounds())), spec.Top)
	for i := range d.Metrics[0].Further {
		further := &d.Metrics[0].Further[i]
		c := uint64(metrickind.Of(further.Kind).Sensitivity(further.Bounds()))
		other, ok := units.Charge(c, further.Top)
		if metrickind.Of(further.Kind).Nodes != nil {
			scale, err := further.Scale()
			if err != nil {
				continue // the compiler makes no such definition
			}
			other, ok = units.ChargeSquares(uint64(scale.Levels())*c*c, further.Top)
		}
		sum, both := worst.Add(other)
		worst, fits = sum, fits && ok && both
	}
	if fits && uint64(worst) <= math.MaxUint64/max(1, pairs) {
		d.Budget.Mu2 = min(d.Budget.Mu2, units.Mu2(uint64(worst)*pairs))
	}
	keys := spec.DeltaKey.Big()
	if own, err := units.DeltaFromBig(keys.Mul(keys, new(big.Int).SetUint64(pairs))); err == nil && own.Cmp(d.Budget.Keys) < 0 {
		d.Budget.Keys = own
	}
}
