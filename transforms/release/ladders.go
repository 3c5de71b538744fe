package release

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// ladders releases the counts of a turn, or of all turns of a span: what there is to release, in
// which order, and with which noise. It is read-only and safe for concurrent use.
type ladders struct {
	metrics []schemas.MetricSpec
	plans   []*noisereduction.Plan // by metric
	second  []int                  // by metric: that of its second components; −1: none
	digests [][32]byte             // by metric

	windows     func(turn uint64) []schemas.MetricWindow
	incarnation [16]byte
	generation  uint32
	noise       noisereduction.NoiseKey
}

// PlanOf compiles a metric's ladder. A private key's threshold must hide the
// greatest contribution of one user, metrickind.Kind.Sensitivity. Errors wrap
// noisereduction.ErrSpec.
func PlanOf(m *schemas.MetricSpec) (*noisereduction.Plan, error) {
	s := noisereduction.Spec{
		Kind: noisereduction.Kind(m.LadderKind), Factor: m.LadderFactor, First: m.First, Top: m.Top,
		Target: noisereduction.Target{Relative: m.Relative, Absolute: m.Absolute, Confidence: m.Confidence},
	}
	if pair := metrickind.Of(m.Kind).Pair; pair != nil && m.HasTarget() {
		s.Target.Relative, s.Target.Absolute = pair.Aim(m.Bounds(), m.Relative, m.Absolute), 0
	}
	if m.KeyMode == schemas.KeysPrivate {
		s.Private = &noisereduction.Private{Contribution: uint64(metrickind.Of(m.Kind).Sensitivity(m.Bounds())), DeltaKey: m.DeltaKey}
	}
	return noisereduction.Compile(s)
}

// task is one release along a ladder.
type task struct {
	spend.Cell
	turn   uint64 // with which the window ends
	count  int64
	result noisereduction.Result
	joined *metrickind.Estimate // of both components, where there are two
}

// releaseShard releases along the ladder of every key of a release shard: public keys also
// where no user contributed; private ones pass their threshold or stay unseen;
// keys that a metric takes from another one are those which that one has just
// released. The releases are in order of window, metric and key, and with them
// goes what their contributors pay for. The turns of a span have no window in
// common: each is released as it would be alone.
func (l *ladders) releaseShard(shard int, partials spend.Partials) ([]schemas.Release, []schemas.SettledKey, error) {
	counts := partials.Counts()
	tasks, err := l.tasks(shard, &partials[0], counts)
	if err != nil {
		return nil, nil, err
	}
	if err := l.refineAll(tasks); err != nil {
		return nil, nil, err
	}
	if following := l.following(tasks, counts); len(following) > 0 {
		if err := l.refineAll(following); err != nil {
			return nil, nil, err
		}
		tasks = append(tasks, following...)
		slices.SortFunc(tasks, func(a, b task) int { return a.Compare(b.Cell) })
	}
	passed := slices.DeleteFunc(tasks, func(t task) bool { return !t.result.Passed })
	releases, settled := make([]schemas.Release, len(passed)), make([]schemas.SettledKey, len(passed))
	second, err := l.join(passed, counts)
	if err != nil {
		return nil, nil, err
	}
	for i := range passed {
		t := &passed[i]
		releases[i] = l.release(t)
		settled[i] = settledKey(t.Cell, t.result.Precision)
	}
	return releases, append(settled, second...), nil
}

func (l *ladders) refineAll(tasks []task) error {
	return inChunks(len(tasks), func(i int) error {
		if err := l.refine(&tasks[i]); err != nil {
			return fmt.Errorf("releasing turn %d: %w", tasks[i].turn, err)
		}
		return nil
	})
}

// inChunks calls fn for 0 to n−1, on all processors.
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

// tasks lists every cell that the shard must release, each
// once and in order, but for keys that are taken from another metric.
func (l *ladders) tasks(shard int, head *schemas.Partial, counts []spend.Count) ([]task, error) {
	turns := map[int64]uint64{} // by end of their windows
	var public []spend.Cell
	for turn := head.First; turn <= head.Turn; turn++ {
		for _, w := range l.windows(turn) {
			turns[w.WindowEnd] = turn
			public = l.public(public, w, shard, int(head.ReleaseShards))
		}
	}
	slices.SortFunc(public, spend.Cell.Compare)
	public = slices.Compact(public)
	tasks := make([]task, 0, len(public)+len(counts))
	for _, c := range counts {
		turn, ends := turns[c.End]
		switch {
		case int(c.Metric) >= len(l.metrics):
			return nil, fmt.Errorf("releasing turn %d: a partial count names metric %d of %d", head.Turn, c.Metric, len(l.metrics))
		case l.metrics[c.Metric].KeyMode == schemas.KeysFrom:
			continue
		case !ends:
			return nil, fmt.Errorf("releasing turns %d to %d: a partial count names a window that ends with none of them", head.First, head.Turn)
		}
		order := -1
		for len(public) > 0 && order < 0 {
			if order = public[0].Compare(c.Cell); order < 0 {
				tasks = append(tasks, task{Cell: public[0], turn: turns[public[0].End]})
			}
			if order <= 0 {
				public = public[1:]
			}
		}
		tasks = append(tasks, task{Cell: c.Cell, turn: turn, count: c.Sum})
	}
	for _, at := range public {
		tasks = append(tasks, task{Cell: at, turn: turns[at.End]})
	}
	return tasks, nil
}

// public appends the public keys of a window that the shard releases.
func (l *ladders) public(cells []spend.Cell, w schemas.MetricWindow, shard, shards int) []spend.Cell {
	for _, m := range l.asked(w.Metric) {
		spec := &l.metrics[m]
		for _, key := range spec.PublicKeys {
			if schemas.ReleaseShardOf(spec.Route(), w.WindowStart, w.WindowEnd, key, shards) == shard {
				cells = append(cells, spend.Cell{Metric: m, Start: w.WindowStart, End: w.WindowEnd, Key: string(key)})
			}
		}
	}
	return cells
}

// asked returns the metrics that a window of a metric is released for: the metric itself, and
// its coverage.
func (l *ladders) asked(metric uint32) []uint32 {
	if schemas.IsCovered(l.metrics, int(metric)) {
		return []uint32{metric, metric + 1}
	}
	return []uint32{metric}
}

// following lists the keys that metrics take from what was just released: all
// of them, also where no user contributed, because the keys are known now.
func (l *ladders) following(released []task, counts []spend.Count) []task {
	var tasks []task
	for i := range released {
		t := &released[i]
		if !t.result.Passed {
			continue
		}
		for m := range l.metrics {
			if spec := &l.metrics[m]; spec.KeyMode == schemas.KeysFrom && spec.KeysFrom == l.metrics[t.Metric].Name && !metrickind.Of(spec.Kind).Component {
				at := t.Cell
				at.Metric = uint32(m)
				tasks = append(tasks, task{Cell: at, turn: t.turn, count: countOf(counts, at)})
			}
		}
	}
	return tasks
}

// countOf returns the count of a cell; 0 where no user contributed.
func countOf(counts []spend.Count, at spend.Cell) int64 {
	if c, found := slices.BinarySearchFunc(counts, at, func(c spend.Count, at spend.Cell) int { return c.Compare(at) }); found {
		return counts[c].Sum
	}
	return 0
}

func settledKey(c spend.Cell, u units.Precision) schemas.SettledKey {
	return schemas.SettledKey{Metric: c.Metric, WindowStart: c.Start, WindowEnd: c.End, Key: []byte(c.Key), Precision: u}
}

// refine releases one count. No release goes beyond the top precision that was
// reserved for.
func (l *ladders) refine(t *task) error {
	var err error
	t.result, err = l.plans[t.Metric].Release(l.noise, noisereduction.Identity{
		Incarnation: l.incarnation, MetricDigest: l.digests[t.Metric], WindowStart: t.Start, WindowEnd: t.End, Key: []byte(t.Key),
	}, t.count)
	if err == nil && t.result.Precision.Cmp(l.metrics[t.Metric].Top) > 0 {
		err = noisereduction.ErrPrecision
	}
	return err
}

// release returns what is published of a count that has passed.
func (l *ladders) release(t *task) schemas.Release {
	m, r := &l.metrics[t.Metric], &t.result
	if e := t.joined; e != nil {
		r.Value, r.StdDev, r.Low, r.High = e.Value, e.StdDev, e.Low, e.High
		r.Met = meets(m, e)
	}
	return schemas.Release{
		Turn: t.turn, Generation: l.generation, Metric: m.Name, MetricDigest: l.digests[t.Metric],
		WindowStart: t.Start, WindowEnd: t.End, Key: t.Key,
		Value: r.Value, StdDev: r.StdDev, Low: r.Low, High: r.High,
		Precision: r.Precision, Confidence: m.Confidence, Met: r.Met,
		Rungs: uint32(r.Rungs), NoiseKeyID: l.noise.ID,
	}
}
