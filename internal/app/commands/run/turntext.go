package run

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// turnText writes turns as tables or as lines of JSON. Not safe for concurrent use.
type turnText struct {
	deployment *pipeline.Deployment
	format     cli.Format
	progress   *terminal.Progress
	clock      *wallclock.Clock
	table      bytes.Buffer
	tables     map[string]*terminal.Table // by metric; they write to table
	metrics    []schemas.MetricSpec       // metrics that are not part of another one
	keyed      map[string]bool            // metrics whose values have keys
	places     map[string]int             // position of each metric: shares follow their edges
	shown      string                     // metric of the last line that was written
}

func newTurnText(d *pipeline.Deployment, f cli.Format, width int, progress *terminal.Progress) *turnText {
	t := &turnText{
		deployment: d, format: f, progress: progress, clock: wallclock.Of(d.Config.Time.WindowZone),
		tables: map[string]*terminal.Table{}, keyed: map[string]bool{}, places: command.PlacesOf(d),
	}
	for _, m := range d.Metrics {
		var keys []string
		for _, k := range m.Spec.PublicKeys {
			keys = append(keys, string(k))
		}
		kind := metrickind.Of(m.Spec.Kind)
		t.keyed[m.Spec.Name] = d.Config.Events.Format.Key != "" && kind.Keyed()
		if !kind.Derived() && kind.Statistic == nil {
			t.metrics = append(t.metrics, m.Spec)
		}
		t.tables[m.Spec.Name] = terminal.NewTable(&t.table, terminal.TableOptions{
			Width: width, Window: time.Duration(m.Spec.WindowSize) * time.Millisecond, Zone: d.Config.Time.WindowZone,
			Confidence: m.Spec.Confidence, Target: m.Spec.HasTarget(), Fine: kind.Fine(), Intervals: kind.Statistic !=
				nil,
			Keys: keys,
		})
	}
	return t
}

// outputs returns the topics that the deployment writes.
func (t *turnText) outputs() *deployment.Outputs { return &t.deployment.Config.Outputs }

// text returns the output for one or more turns.
func (t *turnText) text(p *pipeline.Published) ([]byte, error) {
	releases := p.Releases
	if t.format == cli.JSON {
		return command.ReleaseLines(t.deployment, releases, nil)
	}
	t.table.Reset()
	slices.SortStableFunc(releases, func(a, b schemas.Release) int {
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(t.places[a.Metric], t.places[b.Metric]))
	})
	for len(releases) > 0 {
		metric := releases[0].Metric
		end := slices.IndexFunc(releases, func(r schemas.Release) bool { return r.Metric != metric })
		if end < 0 {
			end = len(releases)
		}
		rows := make([]terminal.Row, end)
		for i, r := range releases[:end] {
			// people see local days
			r.WindowStart, r.WindowEnd = t.clock.Begins(r.WindowStart), t.clock.Begins(r.WindowEnd)
			rows[i] = command.Row(r, t.keyed[metric])
		}
		releases = releases[end:]
		if t.tables[metric] == nil {
			// A foreign release is not a reason to end the run.
			t.progress.Mention("not printing a value on topic %s: the deployment does not have its metric",
				t.outputs().Counts)
			continue
		}
		if err := t.tableOf(metric).Rows(rows); err != nil {
			return nil, err
		}
	}
	err := t.empty(p)
	return t.table.Bytes(), err
}

// empty writes the windows that end with a turn and have no values.
func (t *turnText) empty(p *pipeline.Published) error {
	end := t.clock.Begins(p.End.UnixMilli())
	for _, m := range t.metrics {
		if p.End.IsZero() || end%m.WindowSlide != 0 || slices.ContainsFunc(p.Releases, func(r schemas.Release) bool {
			return r.Metric == m.Name
		}) {
			continue
		}
		if err := t.tableOf(m.Name).Empty(time.UnixMilli(end-m.WindowSize), time.UnixMilli(end), 1); err != nil {
			return err
		}
	}
	return nil
}

// tableOf returns the table of the metric whose rows come next. If there are several metrics, it
// first writes a line with the metric's name.
func (t *turnText) tableOf(metric string) *terminal.Table {
	if len(t.tables) > 1 && t.shown != metric {
		t.table.WriteString("metric " + terminal.Key(metric, 60) + "\n")
		t.shown = metric
	}
	return t.tables[metric]
}
