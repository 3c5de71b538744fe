package transforms

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// ladders releases the counts of a turn, or of all turns of a span: what there is to release, in
// which order, and with which noise. It is read-only and safe for concurrent use.
type ladders struct {
	metrics []schemas.MetricSpec
	plans   []*noisereduction.Plan // by metric
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
	if m.KeyMode == schemas.KeysPrivate {
		s.Private = &noisereduction.Private{Contribution: uint64(metrickind.Of(m.Kind).Sensitivity(m.Bounds())), DeltaKey: m.DeltaKey}
	}
	return noisereduction.Compile(s)
}

// task is one release along a ladder.
type task struct {
	spend.Cell
	turn    uint64 // with which the window ends
	count   int64
	passed  bool
	release schemas.Release
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
	following := l.following(tasks, counts)
	if err := l.refineAll(following); err != nil {
		return nil, nil, err
	}
	tasks = append(tasks, following...)
	slices.SortFunc(tasks, func(a, b task) int { return a.Compare(b.Cell) })
	var releases []schemas.Release
	var settled []schemas.SettledKey
	for i := range tasks {
		if t := &tasks[i]; t.passed {
			releases = append(releases, t.release)
			settled = append(settled, schemas.SettledKey{Metric: t.Metric, WindowStart: t.Start, WindowEnd: t.End, Key: []byte(t.Key), Precision: t.release.Precision})
		}
	}
	return releases, settled, nil
}

func (l *ladders) refineAll(tasks []task) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	const chunk = 64
	for from := 0; from < len(tasks); from += chunk {
		part := tasks[from:min(from+chunk, len(tasks))]
		group.Go(func() error {
			for i := range part {
				if err := l.refine(&part[i]); err != nil {
					return fmt.Errorf("releasing turn %d: %w", part[i].turn, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// tasks lists every cell that the shard must release, each
// once, but for keys that are taken from another metric.
func (l *ladders) tasks(shard int, head *schemas.Partial, counts map[spend.Cell]int64) ([]task, error) {
	all := map[spend.Cell]int64{}
	for at, n := range counts {
		if int(at.Metric) >= len(l.metrics) {
			return nil, fmt.Errorf("releasing turn %d: a partial count names metric %d of %d", head.Turn, at.Metric, len(l.metrics))
		}
		if l.metrics[at.Metric].KeyMode != schemas.KeysFrom {
			all[at] = n
		}
	}
	turns := map[int64]uint64{} // by end of their windows
	for turn := head.First; turn <= head.Turn; turn++ {
		for _, p := range l.windows(turn) {
			turns[p.WindowEnd] = turn
			l.public(all, p, shard, int(head.ReleaseShards))
		}
	}
	tasks := make([]task, 0, len(all))
	for at, n := range all {
		turn, ends := turns[at.End]
		if !ends {
			return nil, fmt.Errorf("releasing turns %d to %d: a partial count names a window that ends with none of them", head.First, head.Turn)
		}
		tasks = append(tasks, task{Cell: at, turn: turn, count: n})
	}
	slices.SortFunc(tasks, func(a, b task) int { return a.Compare(b.Cell) })
	return tasks, nil
}

// public adds the public keys of a window that the shard releases.
func (l *ladders) public(all map[spend.Cell]int64, p schemas.MetricWindow, shard, shards int) {
	for _, m := range l.asked(p.Metric) {
		spec := &l.metrics[m]
		for _, key := range spec.PublicKeys {
			if schemas.ReleaseShardOf(spec.Route(), p.WindowStart, p.WindowEnd, key, shards) == shard {
				all[spend.Cell{Metric: m, Start: p.WindowStart, End: p.WindowEnd, Key: string(key)}] += 0
			}
		}
	}
}

// asked returns the metrics that a window of a metric is released for: the metric itself, and
// its coverage.
func (l *ladders) asked(metric uint32) []uint32 {
	if next := metric + 1; int(next) < len(l.metrics) && l.metrics[next].Of == l.metrics[metric].Name {
		return []uint32{metric, next}
	}
	return []uint32{metric}
}

// following lists the keys that metrics take from what was just released: all
// of them, also where no user contributed, because the keys are known now.
func (l *ladders) following(released []task, counts map[spend.Cell]int64) []task {
	var tasks []task
	for i := range released {
		t := &released[i]
		if !t.passed {
			continue
		}
		for m := range l.metrics {
			if spec := &l.metrics[m]; spec.KeyMode == schemas.KeysFrom && spec.KeysFrom == l.metrics[t.Metric].Name {
				at := t.Cell
				at.Metric = uint32(m)
				tasks = append(tasks, task{Cell: at, turn: t.turn, count: counts[at]})
			}
		}
	}
	return tasks
}

// refine releases one count. No release goes beyond the top precision that was
// reserved for.
func (l *ladders) refine(t *task) error {
	m, digest := &l.metrics[t.Metric], l.digests[t.Metric]
	result, err := l.plans[t.Metric].Release(l.noise, noisereduction.Identity{
		Incarnation: l.incarnation, MetricDigest: digest, WindowStart: t.Start, WindowEnd: t.End, Key: []byte(t.Key),
	}, t.count)
	switch {
	case err != nil:
		return err
	case result.Precision.Cmp(m.Top) > 0:
		return noisereduction.ErrPrecision
	case !result.Passed:
		return nil
	}
	t.passed = true
	t.release = schemas.Release{
		Turn: t.turn, Generation: l.generation, Metric: m.Name, MetricDigest: digest,
		WindowStart: t.Start, WindowEnd: t.End, Key: t.Key,
		Value: result.Value, StdDev: result.StdDev, Low: result.Low, High: result.High,
		Precision: result.Precision, Confidence: m.Confidence, Met: result.Met,
		Rungs: uint32(result.Rungs), NoiseKeyID: l.noise.ID,
	}
	return nil
}
