package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// settingFlags returns the flags that a configuration replaces.
func settingFlags() []string {
	names := cli.FlagNames(func(flags *pflag.FlagSet) { new(demoFlags).registerShared(flags, func() {}) })
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"from", "to", "skip-bad-values"}, name)
	})
}

// runPlanTopic plans a metric of a configuration from the events on its topic.
func (a *app) runPlanTopic(ctx context.Context, f *planFlags, changed func(string) bool) error {
	for _, name := range settingFlags() {
		if changed(name) {
			return command.Usage(fmt.Errorf("--config already sets what --%s sets: leave one of them out", name))
		}
	}
	d, err := a.Load(f.config, config.Options{MissingKeys: true})
	if err != nil {
		return err
	}
	if err := a.WarnAboutBeginning(d, false); err != nil {
		return err
	}
	m, err := f.metricOf(d)
	if err != nil {
		return err
	}
	f.given = changed
	f.Window, f.times.Zone = f.step(m.Window), d.Config.Time.WindowZone
	if err := f.checkRange(); err != nil {
		return command.Usage(err)
	}
	f.Kind, f.Target.Confidence = m.Kind, m.Target.Confidence
	progress := a.Progress()
	defer progress.Flush()
	e, seen, err := f.readTopic(ctx, d, m, progress)
	if err != nil {
		return d.Explained(err)
	}
	defer e.Close() //nolint:errcheck // only temporary files are lost
	if lost := seen.Late + seen.Future; lost > 0 {
		progress.Note("%s left out, which a run would find late or in the future", terminal.Count(int(lost),
			"event"))
	}
	if err := f.refuseTopic(d, seen); err != nil {
		return err
	}
	sizes := f.windows
	if len(sizes) == 0 {
		sizes = []time.Duration{m.Window}
	}
	compile := f.compileMetric(d, m)
	answer, err := f.advise(ctx, progress, e, choice.Question{Sizes: sizes,
		Given: choice.Setting{Epsilon: d.Config.Privacy.Epsilon, Lasts: d.Config.Privacy.Horizon()}, Compile: compile})
	if errors.Is(err, choice.ErrNothing) {
		return fmt.Errorf("%w: none of the %s on topic %s is one%s that %s counts", err, terminal.Count(int(seen.Read),
			"record"), d.Config.Events.Topic, f.inRange(), m.Name)
	}
	if err != nil {
		return err
	}
	out := f.plan(answer)
	target, err := command.Text(planTemplate("target"), f.decided(answer.Best.Setting))
	if err != nil {
		return err
	}
	out.YAML = fmt.Sprintf("- name: %s\n  window: {size: %s}\n  target: %s\n", m.Name, out.Best.Window, target)
	return a.printPlanned(f, e, out, seen.Broken)
}

// compileMetric returns a function that compiles the configuration with other settings for a
// metric. The result has only that metric and the ones derived from it; the others keep their parts
// of the budget.
func (f *planFlags) compileMetric(d *command.Loaded, m *pipeline.Metric) choice.Compile {
	return func(s choice.Setting) (*pipeline.Deployment, error) {
		cfg, c := d.Config, f.decided(s)
		cfg.Privacy.Epsilon, cfg.LedgerSlots = s.Epsilon, 0 // the default for the windows that are tried
		cfg.Metrics = slices.Clone(cfg.Metrics)
		i := slices.IndexFunc(cfg.Metrics, func(o pipeline.Metric) bool { return o.Name == m.Name })
		tried := &cfg.Metrics[i]
		tried.Window, tried.Slide = s.Window, s.Window
		if f.MetricKind().CountTarget() {
			tried.Target.Absolute = c.Target.Absolute
		} else {
			tried.Noise = c.Noise
		}
		compiled, err := pipeline.Compile(cfg)
		if err != nil {
			return nil, err
		}
		compiled.Metrics = slices.DeleteFunc(compiled.Metrics, func(o deployment.CompiledMetric) bool {
			return o.Spec.Name != m.Name && o.Spec.Of != m.Name
		})
		return compiled, nil
	}
}

// refuseTopic returns an error if too many values on a topic cannot be read, by the rule for files.
func (f *planFlags) refuseTopic(d *command.Loaded, seen pipeline.ScanCounts) error {
	values := seen.Accepted + seen.Late + seen.Future + seen.BadValue
	if f.badValues = seen.BadValue; 50*f.badValues <= values || f.SkipBadValues {
		return nil
	}
	return fmt.Errorf("reading topic %s: %s of %s cannot be read. Correct events.fields.value, events.decimals or "+
		"events.decimal_comma, or leave such records out with --skip-bad-values",
		d.Config.Events.Topic, terminal.Number(float64(f.badValues), 0), terminal.Count(values, "value"))
}

// metricOf returns the metric that --metric names.
func (f *planFlags) metricOf(d *command.Loaded) (*pipeline.Metric, error) {
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
		return nil, command.Usage(fmt.Errorf("--metric is needed: %s", strings.Join(names, " or ")))
	case i < 0:
		return nil, command.Usage(fmt.Errorf("--metric is %s, but %s has only %s", f.metric, f.config,
			strings.Join(names, ", ")))
	}
	m := &all[i]
	switch {
	case m.Keys.Mode == pipeline.KeysFrom:
		return nil, command.Usage(fmt.Errorf("--metric is %s, which takes its keys from %s: plan that metric", m.Name,
			m.Keys.From))
	case m.Slide != 0 && m.Slide != m.Window:
		return nil, command.Usage(fmt.Errorf("--metric is %s, which has sliding windows: plan cannot forecast "+
			"those yet", m.Name))
	}
	return m, nil
}

// readTopic reads the events on the topic that the metric counts.
func (f *planFlags) readTopic(ctx context.Context, d *command.Loaded, m *pipeline.Metric,
	progress *terminal.Progress) (*choice.Events, pipeline.ScanCounts, error) {
	passes := ^uint64(0)
	if i := slices.Index(d.Config.Events.Format.Filters, m.Filter); m.Filter != "" && i >= 0 {
		passes = 1 << i
	}
	clock := wallclock.Of(d.Config.Time.WindowZone)
	moment := func(v command.TimeValue) time.Time {
		if v.Local {
			return time.UnixMilli(clock.Time(v.UnixMilli()))
		}
		return v.Time
	}
	from, to := f.millis()
	e, due := choice.NewEvents([32]byte{}, from, to, ""), everyTwoSeconds()
	seen, err := pipeline.ScanEvents(ctx, d.Deployment, pipeline.ScanOptions{From: moment(f.from), To: moment(f.to),
		Progress: func(read uint64) {
			if due() {
				progress.Note("%s read", terminal.Count(int(read), "record"))
			}
		}}, func(v *event.Event) error {
		v.Millis = clock.Reading(v.Millis)
		if m.Filter != "" && v.Passes&passes == 0 ||
			m.Keys.Mode == pipeline.KeysPublic && !slices.Contains(m.Keys.List, string(v.Key)) {
			return nil
		}
		return e.Add(v.User, v.Key, v.Millis, v.Value)
	})
	return e, seen, err
}
