package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// printer writes releases as they are published, and the chart after the last one.
type printer struct {
	a     *app
	j     *job
	table *terminal.Table
	width int
	rows  []terminal.Row
	met   int // values that met their target
	asked int // values with a target
	// values holds the released values, except for statistics.
	values  map[cell]float64
	unasked map[string]bool // metrics without a target
	empty   int             // windows without values since the last one with some
	until   time.Time       // end of the newest of these
}

func newPrinter(a *app, j *job) *printer {
	_, width := terminal.Terminal(a.Stdout)
	p := &printer{a: a, j: j, width: min(width, 120), values: map[cell]float64{}, unasked: map[string]bool{}}
	for _, m := range j.deployment.Metrics {
		p.unasked[m.Spec.Name] = !m.Spec.HasTarget()
	}
	p.table = terminal.NewTable(a.Stdout, terminal.TableOptions{
		Width: p.width, Window: j.flags.Window, Zone: j.flags.times.Zone,
		Confidence: j.flags.Target.Confidence, Target: p.hasTarget(), Keys: j.flags.PublicKeys,
		Statistics: j.statisticNames(), Intervals: len(j.deployment.Metrics) > 1,
	})
	return p
}

func (p *printer) hasTarget() bool { return p.j.deployment.Metrics[0].Spec.HasTarget() }

// begin prints the promise: on stdout before a table, on stderr with JSON.
func (p *printer) begin() error {
	text, err := p.j.promise()
	if err != nil {
		return err
	}
	if p.j.flags.format == cli.JSON {
		p.j.progress.Note("%s", strings.TrimRight(text, "\n"))
		return nil
	}
	return p.a.Print(text + "\n")
}

// turn prints the releases of a turn.
func (p *printer) turn(t demo.Turn) error {
	clock := wallclock.Of(p.j.flags.times.Zone)
	// An hour that the zone's clocks skipped never happened.
	t.Releases = slices.DeleteFunc(t.Releases, func(r schemas.Release) bool {
		return clock.Time(r.WindowStart) == clock.Time(r.WindowEnd)
	})
	for i := range t.Releases {
		if r := &t.Releases[i]; r.Metric == demo.MetricName {
			p.values[cell{r.WindowStart, r.Key}] = r.Count()
		}
	}
	p.j.inOrder(t.Releases)
	p.j.page.Add(0, t.End, t.Releases)
	defer p.j.progress.Settled(int(t.Number), len(t.Releases))
	if p.j.flags.format == cli.JSON {
		text, err := command.ReleaseLines(p.j.deployment, t.Releases, clock)
		if err != nil {
			return err
		}
		return p.a.Print(string(text))
	}
	rows := make([]terminal.Row, len(t.Releases))
	for i, r := range t.Releases {
		rows[i] = command.Row(r, p.j.source.Traits().Format.Key != "")
		rows[i].Statistic = statisticOf(r.Metric)
		if rows[i].Unasked = p.unasked[r.Metric]; !rows[i].Unasked {
			p.asked++
		}
		if r.Met {
			p.met++
		}
	}
	if len(rows) == 0 {
		if start := t.End.Add(-p.j.flags.Window); clock.Time(start.UnixMilli()) != clock.Time(t.End.UnixMilli()) {
			p.empty, p.until = p.empty+1, t.End
		}
		return nil
	}
	if err := p.skipped(); err != nil {
		return err
	}
	p.rows = append(p.rows, rows...)
	if err := p.table.Rows(rows); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// skipped prints a line for the latest windows if they have no values.
func (p *printer) skipped() error {
	if p.empty == 0 || p.j.flags.format == cli.JSON {
		return nil
	}
	windows := p.empty
	p.empty = 0
	return p.table.Empty(p.until.Add(-p.j.flags.Window), p.until, windows)
}

// end draws the chart and prints the summary of the run.
func (p *printer) end(result demo.Result) error {
	also := ""
	if result.Drained && result.Turns > 0 {
		also = "stopped by a signal once the open window was finished; every window up to there is complete"
	}
	p.j.progress.Done(also)
	if err := p.skipped(); err != nil || p.j.flags.format == cli.JSON || len(p.rows) == 0 {
		return err
	}
	rows, drawn := p.rows, len(p.j.deployment.Metrics)
	tree := p.j.flags.MetricKind().Tree
	if tree != nil && tree.Edges { // shares have no charts
		also := p.j.flags.Also
		rows = slices.DeleteFunc(slices.Clone(rows), func(r terminal.Row) bool {
			return r.Statistic != "" && !slices.Contains(also, r.Statistic)
		})
		drawn = 1 + len(also)
	}
	from, _ := p.j.source.Range()
	chart := terminal.Chart(rows, terminal.ChartOptions{
		From: from, To: from.Add(time.Duration(result.Turns) * p.j.flags.Window), Window: p.j.flags.Window,
		Width: p.width, MaxKeys: max(1, mostCharts/drawn),
	})
	return p.a.Print("\n" + chart + "\n" + p.summary(result) + "\n")
}

// summary states how many values were released, and how many met their target.
func (p *printer) summary(result demo.Result) string {
	windows, filled := terminal.Count(int(result.Turns), "window"), map[time.Time]bool{}
	for _, r := range p.rows {
		filled[r.Start] = true
	}
	if n := len(filled); n < int(result.Turns) {
		windows = fmt.Sprintf("%s of %s have values", terminal.Number(float64(n), 0), windows)
	}
	text := fmt.Sprintf("%s, %s released", windows, terminal.Count(len(p.rows), "value"))
	if !p.hasTarget() {
		return text
	}
	asked := "them"
	if p.asked < len(p.rows) {
		asked = terminal.Number(float64(p.asked), 0)
	}
	return text + fmt.Sprintf(", %s of %s as exact as asked", terminal.Number(float64(p.met), 0), asked)
}

// mostCharts limits the number of charts.
const mostCharts = 8

// promiseText is the data of demo_output.txt.
type promiseText struct {
	*demoFlags
	Chosen    string
	Unnamed   string // the promise for events without a user
	Format    event.Format
	Users     deployment.Users
	Threshold float64
	LeastMet  float64 // the least count that can meet the target
}

// MadeUp reports whether the events are made up.
func (f *demoFlags) MadeUp() bool { return f.input == "" }

// RangeFromData says which ends of the range of windows follow from the data; "" for none.
func (f *demoFlags) RangeFromData() string {
	switch {
	case f.from.IsZero() && f.to.IsZero():
		return "follows"
	case f.from.IsZero():
		return "its start follows"
	case f.to.IsZero():
		return "its end follows"
	}
	return ""
}

// promise describes in a few lines what is promised to users and to readers: first the meaning,
// then the exact terms.
func (j *job) promise() (string, error) {
	m := j.deployment.Metrics[0]
	users, err := deployment.SimulateUsers(j.deployment.Budget, j.deployment.Specs(), m.Spec.Name)
	if err != nil {
		return "", err
	}
	return command.Text(command.Template(demoOutput), promiseText{j.flags, j.chosen, deployment.UnnamedUnit,
		j.flags.layout(), users, m.Plan.Threshold(), m.Plan.MeetableFrom()})
}

// statisticOf returns the name of a demo's statistic, given the name of its metric; "" for the
// demo's own values.
func statisticOf(metric string) string {
	_, statistic, _ := strings.Cut(metric, demo.MetricName+".")
	return statistic
}

// inOrder sorts the releases of a turn by window and key. Each key's own value comes first, then
// its statistics in the order of their definition.
func (j *job) inOrder(releases []schemas.Release) {
	place := command.PlacesOf(j.deployment)
	slices.SortStableFunc(releases, func(a, b schemas.Release) int {
		return cmp.Or(cmp.Compare(a.WindowStart, b.WindowStart), cmp.Compare(a.Key, b.Key), cmp.Compare(place[a.Metric],
			place[b.Metric]))
	})
}

// statisticNames maps the name of each statistic to its short form, or "".
func (j *job) statisticNames() map[string]string {
	names := map[string]string{}
	for _, m := range j.deployment.Metrics[1:] {
		names[statisticOf(m.Spec.Name)] = metrickind.Of(m.Spec.Kind).Texts.Short
	}
	return names
}
