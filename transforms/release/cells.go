package release

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// tasks lists every cell that the shard must release, without duplicates and in order, except the
// cells of metrics that take their keys from another metric. dependentTasks lists those.
func (l *ladders) tasks(shard int, head *schemas.Partial, counts []cellCount) ([]task, error) {
	ends := map[int64]bool{}
	var public []cellID
	for _, w := range l.windows(head.Turn) {
		ends[w.WindowEnd] = true
		public = l.publicCells(public, w, shard, int(head.ReleaseShards))
	}
	slices.SortFunc(public, cellID.Compare)
	public = slices.Compact(public)
	tasks := make([]task, 0, len(public)+len(counts))
	for _, c := range counts {
		switch {
		case int(c.Metric) >= len(l.metrics):
			return nil, fmt.Errorf("releasing turn %d: a partial count refers to metric %d, but there are only %d",
				head.Turn, c.Metric, len(l.metrics))
		case l.metrics[c.Metric].KeyMode == schemas.KeysFrom:
			continue
		case !ends[c.End]:
			return nil, fmt.Errorf("releasing turn %d: a partial count is for a window that does not end with the turn",
				head.Turn)
		}
		order := -1
		for len(public) > 0 && order < 0 {
			if order = public[0].Compare(c.cellID); order < 0 {
				tasks = append(tasks, task{cellID: public[0], turn: head.Turn})
			}
			if order <= 0 {
				public = public[1:]
			}
		}
		tasks = append(tasks, task{cellID: c.cellID, turn: head.Turn, count: c.Sum})
	}
	for _, cell := range public {
		tasks = append(tasks, task{cellID: cell, turn: head.Turn})
	}
	return tasks, nil
}

// publicCells appends the cells of the shard for the public keys of a window.
func (l *ladders) publicCells(cells []cellID, w schemas.MetricWindow, shard, shards int) []cellID {
	spec := &l.metrics[w.Metric]
	for _, key := range spec.PublicKeys {
		if schemas.ReleaseShardOf(spec.Route(), w.WindowStart, w.WindowEnd, key, shards) == shard {
			cells = append(cells, cellID{Metric: w.Metric, Start: w.WindowStart, End: w.WindowEnd, Key: string(key)})
		}
	}
	return cells
}

// dependentTasks lists the cells of metrics that take their keys from a metric that has just
// released those keys. It includes cells without contributions, because their keys are now public.
func (l *ladders) dependentTasks(released []task, counts []cellCount) []task {
	var tasks []task
	for i := range released {
		t := &released[i]
		if !t.result.Passed {
			continue
		}
		for m := range l.metrics {
			kind := metrickind.Of(l.metrics[m].Kind)
			if spec := &l.metrics[m]; spec.KeyMode == schemas.KeysFrom && spec.KeysFrom == l.metrics[t.Metric].Name &&
				kind.Part == nil && kind.Statistic == nil {
				cell := t.cellID
				cell.Metric = uint32(m)
				tasks = append(tasks, task{cellID: cell, turn: t.turn, count: countOf(counts, cell)})
			}
		}
	}
	return tasks
}

// countOf returns the count of a cell; 0 if no user contributed.
func countOf(counts []cellCount, cell cellID) int64 {
	if i, found := slices.BinarySearchFunc(counts, cell, cellCount.Compare); found {
		return counts[i].Sum
	}
	return 0
}
