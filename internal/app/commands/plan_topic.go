package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// ofFiles are flags that say what a configuration says.
var ofFiles = []string{
	"input", "input-format", "header", "columns", "user-field", "no-user", "key-field", "time-field", "time-unit", "time-layout", "time-zone", "skip-bad-times", "skip-undecodable", "no-value", "epsilon", "delta", "delta-keys", "accountant",
	"relative", "absolute", "confidence", "public-keys", "kind", "value-field", "decimals", "decimal-comma", "min", "max",
}

// runPlanTopic plans a metric of a configuration by the events on its topic.
func (a *app) runPlanTopic(ctx context.Context, f *planFlags, changed func(string) bool) error {
	for _, name := range ofFiles {
		if changed(name) {
			return usage(fmt.Errorf("--config already sets what --%s sets: leave one of them out", name))
		}
	}
	d, err := a.load(f.config, config.Options{MissingKeys: true})
	if err != nil {
		return err
	}
	if err := a.warnAboutBeginning(d, false); err != nil {
		return err
	}
	if err := d.spared(namedFile{"--report", f.report}); err != nil {
		return err
	}
	m, err := f.metricOf(d)
	if err != nil {
		return err
	}
	f.demoFlags.window, f.times.zone = f.step(m.Window), timeZone(d.Config.Time.WindowZone)
	if err := f.checkChoices(changed); err != nil {
		return err
	}
	if err := cli.CheckOutput("--report", f.report, 0o600, html.Trusted); err != nil {
		return err
	}
	tty, _ := terminal.Terminal(a.stderr)
	progress := terminal.NewProgress(a.stderr, tty, time.Now)
	defer progress.Flush()
	s, seen, err := f.look(ctx, d, m, progress)
	if err != nil {
		return d.explained(err)
	}
	if lost := seen.Late + seen.Future; lost > 0 {
		progress.Note("%s late or of the future, as a run would find them: left out", terminal.Count(int(lost), "event"))
	}
	if err := f.refuseTopic(d, seen); err != nil {
		return err
	}
	sizes := f.windows
	if len(sizes) == 0 {
		sizes = durationList{m.Window}
	}
	answer, err := f.advise(ctx, progress, advice.Question{
		Sample: s, Sizes: sizes, Terms: advice.Terms{Metric: m.Name, File: d.file.Text(), Place: slices.IndexFunc(d.Config.Metrics, func(o pipeline.Metric) bool { return o.Name == m.Name }), Kind: m.Kind, Target: m.Target},
		Compile: advice.OfMetric(d.Config, m.Name), Given: advice.Setting{Epsilon: d.Config.Privacy.Epsilon, Relative: m.Target.Relative, Absolute: m.Target.Absolute},
		KeepTarget: m.Target.Absolute > 0 || metrickind.Of(m.Kind).Values,
	})
	if errors.Is(err, advice.ErrNothing) {
		return fmt.Errorf("%w: none of the %s on topic %s is one%s that %s counts", err, terminal.Count(int(seen.Read), "record"), d.Config.Events.Topic, f.inRange(), m.Name)
	}
	if err != nil {
		return err
	}
	return a.printAdvice(answer, f, seen.Broken)
}

// refuseTopic refuses a topic if too many of its values cannot be read, as a file.
func (f *planFlags) refuseTopic(d *loaded, seen pipeline.ScanCounts) error {
	values := seen.Accepted + seen.Late + seen.Future + seen.BadValue
	if f.badValues = seen.BadValue; 50*f.badValues <= values || f.skipBadValues {
		return nil
	}
	return fmt.Errorf("reading topic %s: %s of %s cannot be read. Correct events.fields.value, events.decimals or events.decimal_comma, or leave such records out with --skip-bad-values",
		d.Config.Events.Topic, terminal.Number(float64(f.badValues), 0), terminal.Count(values, "value"))
}

// metricOf returns the metric that --metric names.
func (f *planFlags) metricOf(d *loaded) (*pipeline.Metric, error) {
	all := d.Config.Metrics
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	i := slices.Index(names, f.metric)
	switch {
	case f.metric == "" && len(all) == 1:
		i = 0
	case f.metric == "":
		return nil, usage(fmt.Errorf("--metric is needed: %s", strings.Join(names, " or ")))
	case i < 0:
		return nil, usage(fmt.Errorf("--metric is %s: %s has %s", f.metric, f.config, strings.Join(names, ", ")))
	}
	m := &all[i]
	switch {
	case m.Keys.Mode == pipeline.KeysFrom:
		return nil, usage(fmt.Errorf("--metric is %s, which takes its keys from %s: plan that metric", m.Name, m.Keys.From))
	case m.Slide != 0 && m.Slide != m.Window:
		return nil, usage(fmt.Errorf("--metric is %s, which has sliding windows: plan cannot forecast those yet", m.Name))
	}
	return m, nil
}

// look reads the events of the topic that the metric counts.
func (f *planFlags) look(ctx context.Context, d *loaded, m *pipeline.Metric, progress *terminal.Progress) (*sample.Sample, pipeline.ScanCounts, error) {
	o := sample.Options{Step: f.demoFlags.window, Values: metrickind.Of(m.Kind).Values}
	o.From, o.To = f.millis()
	c := sample.NewCollector(o)
	now := often()
	seen, err := f.lookAt(ctx, d, m, func(read uint64) {
		if now() {
			progress.Note("%s read", terminal.Count(int(read), "record"))
		}
	}, func(e *event.Event) error { c.AddN(e.User, e.Key, e.Millis, e.Value, 1); return nil })
	return c.Sample(), seen, err
}

// lookAt calls fn with the events of the topic that the metric counts. progress may be nil.
func (f *planFlags) lookAt(ctx context.Context, d *loaded, m *pipeline.Metric, progress func(uint64), fn func(*event.Event) error) (pipeline.ScanCounts, error) {
	passes := ^uint64(0)
	if i := slices.Index(d.Config.Events.Format.Filters, m.Filter); m.Filter != "" && i >= 0 {
		passes = 1 << i
	}
	if progress == nil {
		progress = func(uint64) {}
	}
	clock := wallclock.Of(d.Config.Time.WindowZone)
	at := func(v timeValue) time.Time {
		if v.local {
			return time.UnixMilli(clock.Time(v.UnixMilli()))
		}
		return v.Time
	}
	return pipeline.ScanEvents(ctx, d.Deployment, pipeline.ScanOptions{From: at(f.from), To: at(f.to), Progress: progress}, func(e *event.Event) error {
		e.Millis = clock.Reading(e.Millis)
		if m.Filter == "" || e.Passes&passes != 0 {
			return fn(e)
		}
		return nil
	})
}
