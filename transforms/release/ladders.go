package release

import (
	"fmt"
	"math/big"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// ladders releases the counts of a turn. It decides which cells to release, in which order, and
// with which noise. It is read-only and safe for concurrent use.
type ladders struct {
	metrics []schemas.MetricSpec
	plans   []*noisereduction.Plan // by metric
	extra   [][]int                // by metric: indexes of the metrics for its additional components
	widths  [][]*big.Rat           // by metric with additional components: width for 1, 2, … ratios
	trees   []tree                 // by metric
	digests [][32]byte             // by metric

	windows     func(turn uint64) []schemas.MetricWindow
	bounds      func(start, end int64) (from, to int64)
	incarnation [16]byte
	generation  uint32
	noise       noisereduction.NoiseKey
}

// PlanOf compiles the ladder of a metric. The threshold of a private key must hide the greatest
// contribution of one user, schemas.MetricSpec.Most. Errors wrap noisereduction.ErrSpec.
func PlanOf(m *schemas.MetricSpec) (*noisereduction.Plan, error) {
	s := noisereduction.Spec{
		Kind: noisereduction.Kind(m.LadderKind), Factor: m.LadderFactor, First: m.First, Top: m.Top,
		Target: noisereduction.Target{Relative: m.Relative, Absolute: m.Absolute, Confidence: m.Confidence},
	}
	if metrickind.Of(m.Kind).Statistic != nil { // the target of a statistic is not the error of a count
		s.Target.Absolute = 0
	}
	if vector := metrickind.Of(m.Kind).Vector; vector != nil && m.HasTarget() {
		s.Target.Relative, s.Target.Absolute = vector.Aim(m.Bounds(), m.Relative, m.Absolute, m.Confidence), 0
	}
	if m.KeyMode == schemas.KeysPrivate {
		s.Private = &noisereduction.Private{Contribution: m.Most(), DeltaKey: m.DeltaKey}
	}
	return noisereduction.Compile(s)
}

// task is one release along a ladder.
type task struct {
	cellID
	turn       uint64 // the turn with which the window ends
	count      int64
	result     noisereduction.Result
	components []metrickind.Component // the first component, followed by any additional sums
	combined   *metrickind.Estimate   // value computed from several components; nil if there is only one
	statistics []statistic            // released with the count, in the order of their metrics
}

// releaseShard refines the count of every key of a release shard. Public keys are released even
// without contributions, private keys if they pass their threshold, and keys from another metric if
// that metric has just released them. It returns the releases, sorted by window, metric and key and
// each followed by its statistics, and the precisions for which contributors pay.
func (l *ladders) releaseShard(shard int, partials partialGroup) ([]schemas.Release, []schemas.SettledKey, error) {
	counts := partials.Counts()
	tasks, err := l.tasks(shard, &partials[0], counts)
	if err != nil {
		return nil, nil, err
	}
	if err := l.refineAll(tasks); err != nil {
		return nil, nil, err
	}
	if dependent := l.dependentTasks(tasks, counts); len(dependent) > 0 {
		if err := l.refineAll(dependent); err != nil {
			return nil, nil, err
		}
		tasks = append(tasks, dependent...)
		slices.SortFunc(tasks, func(a, b task) int { return a.Compare(b.cellID) })
	}
	passed := slices.DeleteFunc(tasks, func(t task) bool { return !t.result.Passed })
	releases, settled := make([]schemas.Release, 0, len(passed)), make([]schemas.SettledKey, len(passed))
	extra, err := l.drawAllExtra(passed, counts)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := l.computeAllStatistics(passed, counts)
	if err != nil {
		return nil, nil, err
	}
	for i := range passed {
		t := &passed[i]
		releases = append(releases, l.releaseOf(t))
		for j := range t.statistics {
			releases = append(releases, l.statisticOf(t, &t.statistics[j]))
		}
		settled[i] = settledKey(t.cellID, t.result.Precision)
	}
	return releases, slices.Concat(settled, extra, nodes), nil
}

func (l *ladders) refineAll(tasks []task) error {
	return inChunks(len(tasks), func(i int) error {
		if err := l.refine(&tasks[i]); err != nil {
			return fmt.Errorf("releasing turn %d: %w", tasks[i].turn, err)
		}
		return nil
	})
}

// settleEach calls settle for the tasks of the selected metrics, on all processors. It returns the
// results in the order of the tasks.
func settleEach(passed []task, selects func(metric uint32) bool,
	settle func(*task) ([]schemas.SettledKey, error)) ([]schemas.SettledKey, error) {
	var selected []*task
	for i := range passed {
		if selects(passed[i].Metric) {
			selected = append(selected, &passed[i])
		}
	}
	settled := make([][]schemas.SettledKey, len(selected))
	err := inChunks(len(selected), func(i int) (err error) {
		if settled[i], err = settle(selected[i]); err != nil {
			return fmt.Errorf("releasing turn %d: %w", selected[i].turn, err)
		}
		return nil
	})
	return slices.Concat(settled...), err
}

// inChunks calls fn for every number from 0 to n−1, on all processors.
func inChunks(n int, fn func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	const chunk = 64
	for from := 0; from < n; from += chunk {
		group.Go(func() error {
			for i := from; i < min(from+chunk, n); i++ {
				if err := fn(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func settledKey(c cellID, u units.Precision) schemas.SettledKey {
	return schemas.SettledKey{Metric: c.Metric, WindowStart: c.Start, WindowEnd: c.End, Key: []byte(c.Key),
		Precision: u}
}

// refine releases one count, up to the top precision, which the users' reservations cover.
func (l *ladders) refine(t *task) error {
	var err error
	t.result, err = l.plans[t.Metric].Release(l.noise, l.identity(t.cellID), t.count)
	if err == nil && t.result.Precision.Cmp(l.metrics[t.Metric].Top) > 0 {
		err = noisereduction.ErrPrecision
	}
	return err
}

// identity returns the identity of a cell, which determines the cell's noise.
func (l *ladders) identity(c cellID) noisereduction.Identity {
	return noisereduction.Identity{Incarnation: l.incarnation, MetricDigest: l.digests[c.Metric], WindowStart: c.Start,
		WindowEnd: c.End, Key: []byte(c.Key)}
}

// statisticOf returns the record of a statistic, which is published with the statistic's count.
func (l *ladders) statisticOf(t *task, s *statistic) schemas.Release {
	m, r := &l.metrics[s.metric], l.releaseOf(t)
	r.Metric, r.MetricDigest, r.Confidence = m.Name, l.digests[s.metric], m.Confidence
	r.Value, r.StdDev, r.Low, r.High, r.Met = s.value.Value, s.value.StdDev, s.value.Low, s.value.High, s.met
	return r
}

// releaseOf returns the record of a released count.
func (l *ladders) releaseOf(t *task) schemas.Release {
	m, r := &l.metrics[t.Metric], t.result // a copy: statistics have the value of the first component
	if e := t.combined; e != nil {
		r.Value, r.StdDev, r.Low, r.High = e.Value, e.StdDev, e.Low, e.High
		r.Met = meets(m, e)
	}
	from, to := l.bounds(t.Start, t.End)
	return schemas.Release{
		Turn: t.turn, Generation: l.generation, Metric: m.Name, MetricDigest: l.digests[t.Metric],
		WindowStart: from, WindowEnd: to, Key: t.Key,
		Value: r.Value, StdDev: r.StdDev, Low: r.Low, High: r.High,
		Precision: r.Precision, Confidence: m.Confidence, Met: r.Met,
		Rungs: uint32(r.Rungs), NoiseKeyID: l.noise.ID,
	}
}
