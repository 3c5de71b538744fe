package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// planFlags are the flags of plan.
type planFlags struct {
	demoFlags
	windows durationList

	unnamed uint64 // records of the file that have no user, and are not broken
	named   bool   // a record has one

	config, metric string // a stretch of the events topic in place of a file
}

func Plan(c *command.App) *cobra.Command {
	a, f := &app{c}, &planFlags{}
	const window = "size of windows, like 15m, 1h30m or 1d; give it more than once to compare sizes (default: chosen)"
	return a.newCommand("plan", planHelp, window, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		f.flags = flags
		f.inputFlags.register(flags)
		flags.StringVar(&f.config, "config", "", "")
		flags.StringVar(&f.metric, "metric", "", "")
		f.kindFlags.register(flags, &f.chosenFlags)
		flags.Var(&f.windows, "window", "")
		flags.StringVar(&f.publicKeys, "public-keys", "", "")
		f.registerPromise(flags)
		cli.FormatFlag(cmd, &f.format)
	}, func(cmd *cobra.Command) error {
		if f.config = a.OrUsual(f.config, cmd.Flags().Changed, settingFlags()); f.config != "" ||
			cmd.Flags().Changed("config") {
			return a.runPlanTopic(cmd.Context(), f, cmd.Flags().Changed)
		}
		return a.runPlan(cmd.Context(), f, cmd.Flags().Changed)
	})
}

// durationList is a flag that may be given more than once.
type durationList []time.Duration

func (l *durationList) String() string { return "" }
func (l *durationList) Type() string   { return "duration" }
func (l *durationList) Set(text string) error {
	d, err := timespan.Parse(text)
	if err == nil && d < time.Millisecond {
		err = errors.New("it must be at least 1ms")
	}
	if err == nil {
		*l = append(*l, d)
	}
	return err
}

func (f *planFlags) check(changed func(string) bool) error {
	if f.input == "" {
		return command.Usage(errors.New("--input is missing: name a file with events, or give --config to plan by " +
			"the " +
			"events on a topic"))
	}
	if f.metric != "" {
		return command.Usage(errors.New("--metric is only used with --config"))
	}
	if err := f.spares(); err != nil {
		return err
	}
	f.given = changed
	if err := errors.Join(f.checkInput(changed), f.checkKind(changed)); err != nil {
		return command.Usage(err)
	}
	if changed("public-keys") && f.publicKeys == "" {
		return command.Usage(errors.New("--public-keys is empty: give a file with one key per line, or a,b,c"))
	}
	least := f.leastWindow()
	if f.times.Zone != "" {
		least = 24 * time.Hour // a configuration has only whole days in a zone
	}
	f.demoFlags.window = f.step(least)
	if err := errors.Join(f.checkRange(), f.checkDeltaKeys(changed)); err != nil {
		return command.Usage(err)
	}
	window := f.demoFlags.window
	f.provisional()
	f.demoFlags.window = window
	return input.Readable("input", f.input)
}

// step returns what all sizes of windows are multiples of: otherwise, where none is given.
func (f *planFlags) step(otherwise time.Duration) time.Duration {
	step := otherwise
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
	keys, err := f.publicKeyList()
	if err != nil {
		return err
	}
	progress := a.Progress()
	defer progress.Flush()
	e, broken, err := f.collect(ctx, progress, keys)
	if err != nil {
		return f.explainFile(err)
	}
	defer e.Close() //nolint:errcheck // what it kept is gone
	if f.openValues = f.kindOf().Values() && !f.ranged(); f.openValues {
		f.min, f.max = e.Range()
	}
	answer, err := f.advise(ctx, progress, e, choice.Question{Sizes: f.windows, Given: f.setting(),
		Compile: f.compile(keys)})
	if errors.Is(err, choice.ErrNothing) {
		return f.whyNothing(e, keys, broken, err)
	}
	if err != nil {
		return err
	}
	return a.printPlanned(f, e, f.plan(answer, keys), broken)
}

// whyNothing says why a file has no events: nothing is err.
func (f *planFlags) whyNothing(e *choice.Events, keys []string, broken uint64, nothing error) error {
	input := eventfile.Name(f.input)
	switch {
	case e.Outside > 0 && f.from.IsZero() && f.to.IsZero():
		return fmt.Errorf("%w: every event of %s is before 1970, and such events do not count", nothing, input)
	case e.Outside > 0:
		return fmt.Errorf("%w: every event of %s lies outside of --from and --to", nothing, input)
	case broken == 0:
		return fmt.Errorf("%w: %s has no records", nothing, input)
	}
	unusable := fmt.Errorf("%w: no record of %s has a user, a key and a time that can be used", nothing, input)
	if !eventfile.Repeatable(f.input) {
		return unusable // a pipe cannot be read again to see why
	}
	settings, _, err := f.settings(keys)
	if err != nil {
		return err
	}
	source, err := demo.OpenFile(f.fileOptions())
	if err != nil {
		return f.explainFile(err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	if causes := demo.NoEvents(settings, source); causes != nil {
		return fmt.Errorf("%w: %s", nothing, strings.Join(causes, "; "))
	}
	return unusable
}

// advise answers a question.
func (f *demoFlags) advise(ctx context.Context, progress *terminal.Progress, e *choice.Events,
	q choice.Question) (*choice.Advice, error) {
	now, tried := often(), 0
	q.Progress = func(done int) {
		if tried += done; now() {
			progress.Note("%s tried", terminal.Count(tried, "setting"))
		}
	}
	answer, err := e.Advise(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	if answer.Rate < 1 {
		progress.Note("one of %.0f users is looked at: what follows is for all of them, as far as these tell",
			1/answer.Rate)
	}
	return answer, nil
}

// often returns what says whether two seconds have passed since it said so.
func often() func() bool {
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

// collect reads the events of the file, and counts the records that are no events.
func (f *planFlags) collect(ctx context.Context, progress *terminal.Progress, keys []string) (*choice.Events, uint64,
	error) {
	from, to := f.millis()
	e := choice.NewEvents([32]byte{}, from, to, "")
	now := often()
	faults, err := f.read(ctx, func(v *event.Event) error {
		if keys != nil && f.keyField != "" && !slices.Contains(keys, string(v.Key)) {
			return nil
		}
		return e.Add(v.User, v.Key, v.Millis, v.Value)
	}, func(records uint64) {
		if now() {
			progress.Note("%s read", terminal.Count(int(records), "record"))
		}
	})
	if err != nil {
		return nil, 0, err
	}
	seen := e.Count + e.Outside + faults.Total()
	if err := errors.Join(f.refuseCharset(faults, seen), f.refuseValues(faults, seen), f.refuseUndecodable(faults,
		seen)); err != nil {
		return nil, 0, err
	}
	input.NoteFaults(progress, faults.Texts())
	if err := f.refuseTimes(faults, seen); err != nil {
		return nil, 0, err
	}
	input.NoteTimes(progress, faults, &f.from, &f.to)
	if f.unnamed > 0 && !f.named {
		return nil, 0, f.noUsers()
	}
	input.NoteUnnamed(progress, f.noUser, f.unnamed+faults.Unnamed(), faults.Blank())
	input.NoteWithoutValue(progress, f.NoValue, faults.WithoutValue())
	return e, faults.Total(), nil
}

func (f *planFlags) inRange() string {
	if !f.from.IsZero() || !f.to.IsZero() {
		return " between --from and --to"
	}
	return ""
}

// millis returns the range of times; 0 where there is no limit.
func (f *inputFlags) millis() (from, to int64) {
	if !f.from.IsZero() {
		from = f.from.UnixMilli()
	}
	if !f.to.IsZero() {
		to = f.to.UnixMilli()
	}
	return from, to
}

// read calls fn with every event of the file, and collects the records that are not events.
// progress is called now and then.
func (f *planFlags) read(ctx context.Context, fn func(*event.Event) error,
	progress func(records uint64)) (*eventfile.Faults, error) {
	var records uint64
	layout := f.layout()
	faults := eventfile.NewFaults(layout)
	if f.noUser != "" {
		layout.NoUser = event.NoUserEach // else such a record is broken
	}
	var namer event.Namer
	err := eventfile.Scan(f.input, eventfile.OptionsOf(layout, f.header),
		func(h eventfile.Head) (func(eventfile.Record) error, error) {
			faults.Begin(h)
			decoder, err := event.NewDecoder(h.Complete(layout))
			var e event.Event
			return func(r eventfile.Record) error {
				if records++; records%(1<<16) == 0 {
					if err := ctx.Err(); err != nil {
						return err
					}
					progress(records)
				}
				switch err := decoder.Decode(r.Value, &e); {
				case err == nil:
					skip := f.noUser == demo.SkipNoUser
					if len(e.User) == 0 || skip && eventfile.BlankUser(e.User) {
						if f.unnamed++; skip {
							return nil
						}
					}
					faults.Event(&e, r)
					f.named = f.named || len(e.User) > 0
					namer.Name(&e, &layout, records)
					return fn(&e)
				case faults.Add(err, r):
					return nil
				default:
					return err
				}
			}, err
		})
	return faults, err
}
