package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
)

// planFlags are the flags of plan.
type planFlags struct {
	demoFlags
	windows []time.Duration

	config, metric string // for the events on a topic instead of a file
}

func Plan(c *command.App) *cobra.Command {
	a, f := &app{c}, &planFlags{}
	const window = "size of windows, like 15m, 1h30m or 1d; give it more than once to compare sizes (default: chosen)"
	return a.newCommand("plan", planHelp, window, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		f.registerShared(flags, func() {
			flags.Var(cli.Parsed("duration", func() string { return "" }, f.addWindow), "window", "")
		})
		flags.StringVar(&f.config, "config", "", "")
		flags.StringVar(&f.metric, "metric", "", "")
		cli.FormatFlag(cmd, &f.format)
	}, func(cmd *cobra.Command) error {
		if f.config == "" && !slices.ContainsFunc(settingFlags(), cmd.Flags().Changed) {
			f.config = a.UsualPath()
		}
		if f.config != "" {
			return a.runPlanTopic(cmd.Context(), f, cmd.Flags().Changed)
		}
		return a.runPlan(cmd.Context(), f, cmd.Flags().Changed)
	})
}

// addWindow adds a value of --window, which may be given more than once.
func (f *planFlags) addWindow(text string) error {
	size, err := timespan.Parse(text)
	if err == nil && size < time.Millisecond {
		err = errors.New("it must be at least 1ms")
	}
	f.windows = append(slices.DeleteFunc(f.windows, func(given time.Duration) bool { return given == size }), size)
	return err
}

func (f *planFlags) check(changed func(string) bool) error {
	if f.input == "" {
		return command.Usage(errors.New("--input is missing: name a file with events, or give --config to plan by " +
			"the events on a topic"))
	}
	if f.metric != "" {
		return command.Usage(errors.New("--metric is only used with --config"))
	}
	if err := cmp.Or(f.checkOverwrite(), command.FlagError(f.Target.Check())); err != nil {
		return err
	}
	f.given = changed
	least := choice.Usual[0]
	if f.times.Zone != "" {
		least = 24 * time.Hour // a configuration has only whole days in a zone
	}
	f.Window = f.step(least)
	if err := f.checkFile(changed); err != nil {
		return err
	}
	return f.readPublicKeys()
}

// step returns the greatest common divisor of the given sizes of windows; fallback if none is
// given.
func (f *planFlags) step(fallback time.Duration) time.Duration {
	step := fallback
	for i, w := range f.windows {
		if i == 0 {
			step = w
		}
		for rest := w; rest != 0; {
			step, rest = rest, step%rest
		}
	}
	return step
}

func (a *app) runPlan(ctx context.Context, f *planFlags, changed func(string) bool) error {
	if err := f.check(changed); err != nil {
		return err
	}
	j := &job{flags: &f.demoFlags, progress: a.Progress()}
	defer j.progress.Flush()
	if err := j.compile(); err != nil {
		return err
	}
	file, err := j.read()
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	j.noteFaults(file)
	from, to := f.millis()
	e := choice.NewEvents([32]byte{}, from, to, "")
	defer e.Close() //nolint:errcheck // its temporary files are no longer needed
	if err := j.addTo(e); err != nil {
		return err
	}
	if f.openValues {
		f.Min, f.Max = e.Range()
	}
	advice, err := f.advise(ctx, j.progress, e, choice.Question{Sizes: f.windows, Given: f.setting(),
		Compile: f.compile})
	if errors.Is(err, choice.ErrNothing) {
		why := "lies between --from and --to"
		if e.Outside == 0 {
			why = "has a key of --public-keys"
		}
		return fmt.Errorf("%w: no event of %s %s", err, eventfile.Name(f.input), why)
	}
	if err != nil {
		return err
	}
	if err := f.dropTarget(&advice.Best); err != nil {
		return err
	}
	answer, decided := f.plan(advice), f.decided(advice.Best.Setting)
	if answer.YAML, err = f.yaml(decided); err != nil {
		return err
	}
	answer.Demo = f.decidedFlags(decided)
	return a.printPlanned(f, e, answer, file.Faults().Total())
}

// dropTarget removes the default target of quantiles and histograms if the counts of half of the
// events are too small to meet it.
func (f *planFlags) dropTarget(best *choice.Outcome) error {
	if f.MetricKind().Tree == nil || f.given("absolute") {
		return nil
	}
	d, err := f.compile(best.Setting)
	if err == nil && best.Half < d.Metrics[0].Plan.MeetableFrom() {
		f.Target.Absolute = 0
	}
	return err
}

// advise returns the advice for a question, and notes its progress.
func (f *demoFlags) advise(ctx context.Context, progress *terminal.Progress, e *choice.Events,
	q choice.Question) (*choice.Advice, error) {
	due, tried := everyTwoSeconds(), 0
	q.Progress = func(done int) {
		if tried += done; due() {
			progress.Note("%s tried", terminal.Count(tried, "setting"))
		}
	}
	advice, err := e.Advise(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	if advice.Rate < 1 {
		progress.Note("a sample of one in %.0f users was read: the following figures for all users are estimates",
			1/advice.Rate)
	}
	return advice, nil
}

// everyTwoSeconds returns a function that returns true at most every two seconds.
func everyTwoSeconds() func() bool {
	last := time.Now()
	return func() bool {
		now := time.Now()
		if now.Sub(last) <= 2*time.Second {
			return false
		}
		last = now
		return true
	}
}

func (f *planFlags) inRange() string {
	if !f.from.IsZero() || !f.to.IsZero() {
		return " between --from and --to"
	}
	return ""
}

// millis returns --from and --to in Unix milliseconds; 0 if one is not given.
func (f *inputFlags) millis() (from, to int64) {
	if !f.from.IsZero() {
		from = f.from.UnixMilli()
	}
	if !f.to.IsZero() {
		to = f.to.UnixMilli()
	}
	return from, to
}
