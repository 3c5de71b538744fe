package forecast

import (
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// unbounded are the bounds of what there is to count.
var unbounded = metrickind.Bounds{Events: math.MaxInt64}

// model is what all paths share.
type model struct {
	w          *sample.Windows
	budget     budgets.Budget
	metric     *deployment.CompiledMetric
	kind       metrickind.Kind
	vector     *vector              // nil: counts have one component
	tree       *tree                // nil: counts have no trees
	statistics []statistic          // what is released beside the values
	sums       []schemas.MetricSpec // further components that are sums
	again      []bool               // by sum: whether it replaces the first component in values of several
	tops       precisions           // of all that are sums
	bounds     metrickind.Bounds
	values     []func(value int64, b metrickind.Bounds) int64 // by component, of kinds with values
	least      float64                                        // for kinds with values: what each is clamped to
	greatest   float64
	most       int      // keys of a user in a window
	keys       int      // numbers of keys are below it: public keys without events come after the others
	listed     []uint32 // public keys
	taken      []bool   // by key: whether it is public; nil where keys are private
	worst      []uint64 // by contribution, as far as it goes: what it costs at the top, account units
	shared     []uint64 // by number of events in a window: what the share of counted events costs; nil without one
	pays       int      // how many pairs of window and key a user's δ pays for; −1: no limit
	period     int64    // milliseconds; 0 for life
	after      []int    // Options.Lost, with the last window
	told       []int32  // by key: its index in Options.Keys plus one; 0: not told
	// threshold is that of the plan.
	threshold float64
	half      float64 // the least truth of the cells that hold half
	options   Options
}

func newModel(w *sample.Windows, d *deployment.Deployment, o Options) (*model, error) {
	metric := &d.Metrics[0]
	s := &metric.Spec
	m := &model{
		w: w, budget: d.Budget, metric: metric, kind: metrickind.Of(s.Kind), bounds: s.Bounds(), most: int(s.MaxKeysPerUser),
		keys: w.Keys, period: d.Config.Privacy.Period.Milliseconds(), options: o,
		threshold: metric.Plan.Threshold(),
	}
	m.values = append(m.values, m.kind.Value)
	m.least, m.greatest = float64(m.bounds.Min), float64(m.bounds.Max)
	switch {
	case m.kind.Values && !w.Values && w.Len() > 0:
		return nil, fmt.Errorf("forecasting %s, which %s values, from events without: %w", s.Name, m.kind.Texts.Verb, ErrUnsupported)
	case s.WindowSize != s.WindowSlide:
		return nil, fmt.Errorf("forecasting %s, whose windows slide: %w", s.Name, ErrUnsupported)
	case s.WindowSize != w.Size.Milliseconds():
		return nil, fmt.Errorf("forecasting %s from windows of another size, %s: %w", s.Name, w.Size, ErrUnsupported)
	case m.period%s.WindowSize != 0 || m.period > 0 && w.Start%s.WindowSize != 0:
		return nil, fmt.Errorf("forecasting %s, whose windows reach over the end of a period: %w", s.Name, ErrUnsupported)
	}
	if err := m.list(s); err != nil {
		return nil, err
	}
	m.worst = make([]uint64, 1+min(m.kind.Sensitivity(m.bounds), 1<<10))
	for c := range m.worst {
		m.worst[c] = costInUnits(uint64(c), s.Top)
	}
	if d.Config.Metrics[0].Counted != nil {
		at := slices.IndexFunc(d.Metrics, func(m deployment.CompiledMetric) bool { return metrickind.Of(m.Spec.Kind).Share })
		share := &d.Metrics[at].Spec
		kept := deployment.KeptFor(share).Uint64() // of which Compile has seen that it fits a budget
		m.budget.Mu2 -= units.Mu2(kept)
		for n := range min(int(share.MaxEventsPerKey), 1<<16) + 1 {
			m.shared = append(m.shared, costInUnits(uint64(n), share.Top))
		}
	}
	m.pays = -1
	if !s.DeltaKey.IsZero() {
		n := d.Budget.Keys.Big()
		if n.Div(n, s.DeltaKey.Big()); n.IsInt64() && n.Int64() < math.MaxInt32 {
			m.pays = int(n.Int64())
		}
	}
	for _, n := range o.Lost {
		if n > 0 && n < w.Len() {
			m.after = append(m.after, n)
		}
	}
	m.after = append(m.after, w.Len())
	slices.Sort(m.after)
	m.after = slices.Compact(m.after)
	m.tops[0] = s.Top
	for _, further := range metric.Further {
		if kind := metrickind.Of(further.Kind); kind.Nodes == nil {
			m.sums, m.again = append(m.sums, further), append(m.again, kind.Again)
			m.tops[len(m.sums)] = further.Top
			m.values = append(m.values, kind.Value)
		}
	}
	if m.kind.Vector != nil {
		width, _ := metric.Plan.Width(m.kind.Vector.Ratios).Float64()
		m.vector = &vector{Vector: m.kind.Vector, first: s, width: width}
	}
	m.tree, m.statistics = newTree(d), statisticsOf(d)
	if o.Cells == nil {
		o.Cells = m.measure()
	}
	if m.tree != nil {
		m.tree.parents = o.Cells.parents
	}
	if m.half = o.Cells.Half; m.vector != nil {
		m.vector.spread = o.Cells.spread.of(m.kind)
	}
	for i := range m.statistics {
		if b := &m.statistics[i]; b.Vector != nil {
			b.spread = o.Cells.spread.of(b.Kind)
		}
	}
	m.told = make([]int32, m.keys)
	for i, k := range o.Keys {
		if int(k) >= w.Keys {
			return nil, fmt.Errorf("forecasting %s: there is no key %d among %d: %w", s.Name, k, w.Keys, ErrUnsupported)
		}
		m.told[k] = int32(i + 1)
	}
	return m, nil
}

// list finds the public keys among those of the sample; those without events get numbers, too.
func (m *model) list(s *schemas.MetricSpec) error {
	if s.KeyMode != schemas.KeysPublic {
		return nil
	}
	if len(m.w.Names) != m.w.Keys {
		return fmt.Errorf("forecasting %s, whose keys are public, without the names of keys: %w", s.Name, ErrUnsupported)
	}
	numbers := make(map[string]uint32, m.w.Keys)
	for k, name := range m.w.Names {
		numbers[name] = uint32(k)
	}
	for _, key := range s.PublicKeys {
		k, some := numbers[string(key)]
		if !some {
			k = uint32(m.keys)
			m.keys++
		}
		m.listed = append(m.listed, k)
	}
	m.taken = make([]bool, m.keys)
	for _, k := range m.listed {
		m.taken[k] = true
	}
	return nil
}

// costInUnits is units.Charge, MaxMu2 where that does not fit.
func costInUnits(c uint64, u units.Precision) uint64 {
	charge, _ := units.Charge(c, u)
	return uint64(charge)
}
