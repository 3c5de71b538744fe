package commands

import (
	"slices"
	"sort"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// labelOf returns the label of a release's rows: its key, followed by the name if it is a
// statistic.
func labelOf(r *schemas.Release) string {
	statistic, some := strings.CutPrefix(r.Metric, demo.MetricName+".")
	if !some {
		return r.Key
	}
	return strings.TrimSpace(r.Key + " " + statistic)
}

// compareRanks reads the source once more, and tells the holder of the file how far the real ranks
// of the released quantiles are from the ranks of the metric.
func (j *job) compareRanks(result demo.Result) error {
	from, to := j.source.Range()
	if result.Drained || from.IsZero() || len(j.statistics) == 0 {
		return nil
	}
	values, size := map[cell][]int64{}, j.flags.window.Milliseconds()
	if err := j.events(func(e *event.Event) error {
		if keys := j.settings.PublicKeys; e.Millis >= from.UnixMilli() && e.Millis < to.UnixMilli() && (keys == nil || slices.Contains(keys, string(e.Key))) {
			at := cell{e.Millis - e.Millis%size, string(e.Key)}
			values[at] = append(values[at], e.Value)
		}
		return nil
	}); err != nil {
		return err
	}
	var sizes []float64
	for _, of := range values {
		slices.Sort(of)
		sizes = append(sizes, float64(len(of)))
	}
	least := forecast.LeastOfHalf(sizes)
	for i := range j.deployment.Metrics {
		spec := &j.deployment.Metrics[i].Spec
		if !metrickind.Of(spec.Kind).Statistic {
			continue
		}
		var errors []float64
		for at, of := range values {
			if float64(len(of)) < least {
				continue
			}
			off := 1.0 // if the value is missing
			if v, ok := j.statistics[spec.Name][at]; ok {
				off = rankErrorOf(of, v, float64(spec.Max)/metrickind.RankUnit)
			}
			errors = append(errors, off)
		}
		j.progress.Note("compared with the file: the rank of %s is typically off by %s (the median of %s that hold half of the events)",
			strings.TrimPrefix(spec.Name, demo.MetricName+"."), percent(forecast.Median(errors)), terminal.Count(len(errors), "value"))
	}
	return nil
}

// rankErrorOf returns how far a rank is from the nearest rank that v has among ascending values.
func rankErrorOf(values []int64, v, rank float64) float64 {
	n := float64(len(values))
	below := float64(sort.Search(len(values), func(i int) bool { return float64(values[i]) >= v }))
	upTo := float64(sort.Search(len(values), func(i int) bool { return float64(values[i]) > v }))
	return max(0, below/n-rank, rank-upTo/n)
}
