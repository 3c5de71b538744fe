package command

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Row returns a row of the table; keyed says that events have keys.
func Row(r schemas.Release, keyed bool) terminal.Row {
	if keyed {
		r.Key = cmp.Or(r.Key, terminal.EmptyKey)
	}
	return terminal.Row{
		Start: time.UnixMilli(r.WindowStart), End: time.UnixMilli(r.WindowEnd), Key: r.Key,
		Value: r.Count(), Low: r.Low, High: r.High, Met: r.Met, Lopsided: r.Metric != demo.MetricName,
	}
}

// ReleaseLines returns releases as lines of JSON. The clock turns their times, its readings, into
// moments; it is nil if they are moments.
func ReleaseLines(d *pipeline.Deployment, releases []schemas.Release, clock *wallclock.Clock) ([]byte, error) {
	var b bytes.Buffer
	for _, r := range releases {
		r.WindowStart, r.WindowEnd = clock.Time(r.WindowStart), clock.Time(r.WindowEnd)
		unit := ""
		if i := slices.IndexFunc(d.Metrics, func(m deployment.CompiledMetric) bool {
			return m.Spec.Name == r.Metric
		}); i >= 0 && metrickind.Of(d.Metrics[i].Spec.Kind).HasUnit() {
			unit = d.Config.Events.Format.ValueUnit()
		}
		line, err := r.JSON(unit)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// StatisticsOf returns the metric that spec is a statistic of; "" if it is no statistic.
func StatisticsOf(spec *schemas.MetricSpec) string {
	if metrickind.Of(spec.Kind).Statistic == nil {
		return ""
	}
	return spec.Of
}

// PlacesOf returns where each metric stands in a deployment, from 0.
func PlacesOf(d *deployment.Deployment) map[string]int {
	places := map[string]int{}
	for i := range d.Metrics {
		places[d.Metrics[i].Spec.Name] = i
	}
	return places
}
