package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	html "github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// planFlags are the flags of plan. Bounds that are 0 are chosen.
type planFlags struct {
	demoFlags
	windows durationList
	aim     aimFlag
	key     string
	within  float64
	exact   bool

	unnamed uint64 // records of the file that have no user, and are not broken
	named   bool   // a record has one

	config, metric string // a stretch of the events topic in place of a file
}

func (a *app) plan() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Recommend windows and bounds for your events, and show how exact the counts would be",
		Long: `Read a file of events once, search for the window, the bounds, the target and the
lifetime of budgets that fit it, and say how far counts would typically be from the
real ones: by noise, and by events that are left out. The recommended setting is ready
for a configuration file and for "tollgate demo".

The typical error is the median over the cells (a key in a window) that hold half of
the events, the largest first; a cell that does not come out counts as 100 %.
--aim says what the setting is to be best at: the least typical error, the most keys
that come out, or the longest time in which every user can take part.

plan changes and releases nothing. Its output comes from raw data and is for you alone.
The recommended setting has round numbers and no key of the data, but plan chose it by
looking at raw data, and that choice is not protected.

plan keeps what you give and chooses the rest. Without --window it takes the smallest
of 1h, 6h, 1d, 7d, 30d, 90d and 365d that is useful (for dates without a time of day,
of 1d and more): typically within 25 % of the real count, or within --relative where you
give it. If none is, it takes the one with the least error and says what would be enough.
With several --window it takes the best of them.

With --config, or without flags that describe a file, plan reads the events topic of a
configuration in place of a file and plans one of its metrics, in windows of the
metric's size unless you give others.`,
		Example: `  tollgate plan --input visits.csv --header --user-field user --key-field page \
    --time-field when
  tollgate plan --input visits.csv --header --user-field user --key-field page \
    --time-field when --window 1h --window 1d --key /cart --within 0.1
  tollgate plan --config tollgate.yaml --from 2025-03-01 --to 2025-03-08`,
		Args: noArguments("--input"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.inputFlags.register(flags)
	f.kindFlags.register(flags, "default: plan chooses")
	flags.Var(&f.windows, "window", "size of windows, like 15m, 1h30m or 1d; give it more than once to compare sizes (default: plan chooses)")
	f.registerPromise(cmd)
	flags.IntVar(&f.maxKeysPerUser, "max-keys-per-user", 0, "how many keys a user can contribute to in a window (default: plan chooses)")
	flags.IntVar(&f.maxEventsPerKey, "max-events-per-key", 0, "how many events a user can contribute to a key in a window (default: plan chooses)")
	flags.IntVar(&f.lastAtLeast, "last-at-least", 0, "in how many windows every user can take part (default: plan chooses)")
	flags.StringVar(&f.publicKeys, "public-keys", "", "the keys to release in every window: a file with one key per line, or a,b,c (default: which keys exist is protected)")
	f.aim = aimFlag(advice.LeastError)
	flags.Var(&f.aim, "aim", "what to optimise: error (the least typical error), keys (the most released keys) or lifetime (the longest)")
	flags.StringVar(&f.key, "key", "", "a key: report what it needs to be within --within in nine of ten windows")
	flags.Float64Var(&f.within, "within", 0, "with --key: the relative error (default: --relative)")
	flags.StringVar(&f.config, "config", "", "configuration file (YAML): plan one of its metrics by the events on its topic between --from and --to, in place of --input (default without --input: $TOLLGATE_CONFIG, else "+usualConfig+")")
	flags.StringVar(&f.metric, "metric", "", "with --config: the metric to plan (default: the only one)")
	cmd.RegisterFlagCompletionFunc("metric", a.completeMetrics) //nolint:errcheck // the flag exists
	flags.BoolVar(&f.exact, "exact", false, "also print exact terms: deviations of the noise, thresholds, everything that was tried")
	flags.StringVar(&f.report, "report", "", "file for an HTML page of the answer, with sliders over what plan computed; made from raw data, for you alone")
	cli.FormatFlag(cmd, &f.format)
	cmd.RunE = a.run(func(cmd *cobra.Command) error {
		if f.config = a.orUsual(f.config, cmd.Flags().Changed, ofFiles); f.config != "" || cmd.Flags().Changed("config") {
			return a.runPlanTopic(cmd.Context(), f, cmd.Flags().Changed)
		}
		f.command = demoCommand(&f.demoFlags, cmd.Flags(), planOnly...)
		return a.runPlan(cmd.Context(), f, cmd.Flags().Changed)
	})
	return cmd
}

// durationList is a flag that may be given more than once.
type durationList []time.Duration

func (l *durationList) String() string { return "" }
func (l *durationList) Type() string   { return "duration" }
func (l *durationList) Set(text string) error {
	d, err := config.ParseDuration(text)
	if err == nil && d < time.Millisecond {
		err = errors.New("it must be at least 1ms")
	}
	if err == nil {
		*l = append(*l, d)
	}
	return err
}

// aimFlag is the value of --aim.
type aimFlag advice.Aim

func (a *aimFlag) String() string { return string(*a) }
func (a *aimFlag) Type() string   { return "aim" }
func (a *aimFlag) Set(text string) error {
	if !slices.Contains(advice.Aims(), advice.Aim(text)) {
		return errors.New("it must be error, keys or lifetime")
	}
	*a = aimFlag(text)
	return nil
}

func (f *planFlags) check(changed func(string) bool) error {
	if f.input == "" {
		return usage(errors.New("--input is missing: name a file with events, or give --config to plan by the events on a topic"))
	}
	if f.metric != "" {
		return usage(errors.New("--metric is only used with --config"))
	}
	if err := f.spares(); err != nil {
		return err
	}
	f.given = changed
	if err := errors.Join(f.checkInput(changed), f.checkKind(changed)); err != nil {
		return usage(err)
	}
	if changed("public-keys") && f.publicKeys == "" {
		return usage(errors.New("--public-keys is empty: give a file with one key per line, or a,b,c"))
	}
	least := f.leastWindow()
	if f.times.zone != "" {
		least = 24 * time.Hour // a configuration has only whole days in a zone
	}
	f.demoFlags.window = f.step(least)
	if err := errors.Join(f.checkChoices(changed), f.checkDeltaKeys(changed)); err != nil {
		return err
	}
	if err := readable("input", f.input); err != nil {
		return err
	}
	return cli.CheckOutput("--report", f.report, 0o600, html.Trusted)
}

// checkChoices checks what can be given of what is chosen otherwise.
func (f *planFlags) checkChoices(changed func(string) bool) error {
	f.given = changed
	for name, v := range map[string]int{"max-keys-per-user": f.maxKeysPerUser, "max-events-per-key": f.maxEventsPerKey, "last-at-least": f.lastAtLeast} {
		if changed(name) && v < 1 {
			return must(name, "at least 1")
		}
	}
	if f.within < 0 || f.within > 1 {
		return must("within", "from 0 to 1: 0.1 is 10 %%")
	}
	if err := f.checkRange(); err != nil {
		return usage(err)
	}
	return nil
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
	tty, _ := terminal.Terminal(a.stderr)
	progress := terminal.NewProgress(a.stderr, tty, time.Now)
	defer progress.Flush()
	s, broken, err := f.sample(ctx, progress)
	if err != nil {
		return f.explainFile(err)
	}
	answer, err := f.advise(ctx, progress, f.question(s, f.windows, keys))
	if errors.Is(err, advice.ErrNothing) {
		return f.whyNothing(s, keys, broken, err)
	}
	if err != nil {
		return err
	}
	return a.printAdvice(answer, f, broken)
}

// whyNothing says why a file has no events: nothing is err.
func (f *planFlags) whyNothing(s *sample.Sample, keys []string, broken uint64, nothing error) error {
	input := eventfile.Name(f.input)
	switch {
	case s.Outside > 0 && f.from.IsZero() && f.to.IsZero():
		return fmt.Errorf("%w: every event of %s is before 1970, and such events do not count", nothing, input)
	case s.Outside > 0:
		return fmt.Errorf("%w: every event of %s lies outside of --from and --to", nothing, input)
	case s.Events > 0:
		return fmt.Errorf("%w: one user in %s has more keys and windows than plan can hold: leave this user out, or give --from and --to", nothing, input)
	case broken == 0:
		return fmt.Errorf("%w: %s has no records", nothing, input)
	}
	unusable := fmt.Errorf("%w: no record of %s has a user, a key and a time that can be used", nothing, input)
	if !eventfile.Repeatable(f.input) {
		return unusable // a pipe cannot be read again to see why
	}
	bounded := f.demoFlags
	bounded.maxKeysPerUser, bounded.maxEventsPerKey, bounded.lastAtLeast = 1, 1, 1 // they do not matter
	bounded.apply(f.placed(bounded.current()))
	settings, _, err := bounded.settings(keys)
	if err != nil {
		return err
	}
	source, err := demo.OpenFile(f.fileOptions())
	if err != nil {
		return f.explainFile(err)
	}
	defer source.Close() //nolint:errcheck // it was only read
	causes, err := demo.NoEvents(settings, source)
	switch {
	case err != nil:
		return err
	case causes == nil:
		return unusable
	}
	return fmt.Errorf("%w: %s", nothing, causeTexts(causes))
}

// advise answers a question, to which the flags are added.
func (f *planFlags) advise(ctx context.Context, progress *terminal.Progress, q advice.Question) (*advice.Advice, error) {
	if q.Sample.Rate < 1 {
		progress.Note("one of %.0f users is looked at: what follows is for all of them, as far as these tell", 1/q.Sample.Rate)
	}
	if q.Sample.Left > 0 {
		progress.Note("%s alone fill a quarter of what is remembered, and are left out", terminal.Count(q.Sample.Left, "user"))
	}
	q.Key, q.Within, q.Aim = f.key, f.within, advice.Aim(f.aim)
	q.Given.KeysPerUser, q.Given.EventsPerKey, q.Given.LastAtLeast = f.maxKeysPerUser, f.maxEventsPerKey, f.lastAtLeast
	q.Progress = tries(progress)
	answer, err := advice.Answer(ctx, q)
	switch {
	case errors.Is(err, advice.ErrUnknownKey):
		return nil, usage(fmt.Errorf("--key is %s: %w", f.key, err))
	case err != nil:
		return nil, fmt.Errorf("planning: %w", err)
	}
	return answer, nil
}

// tries returns what says now and then how many settings were tried.
func tries(progress *terminal.Progress) func(done int) {
	now, tried := often(), 0
	return func(done int) {
		if tried += done; now() {
			progress.Note("%s tried", terminal.Count(tried, "setting"))
		}
	}
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

// terms are what all settings have in common.
func (f *demoFlags) terms(keys []string) advice.Terms {
	t := advice.Terms{
		Statistics: f.statistics,
		Kind:       f.kind,
		Decimals:   f.decimals,
		Delta:      f.delta, Accountant: string(f.accountant), Planned: f.planned, Command: f.command,
		Target: noisereduction.Target{Relative: f.relative, Absolute: f.absolute, Confidence: f.confidence},
	}
	switch {
	case f.keyField == "": // there is one key, which has no name
		t.Keys = `{mode: public, list: [""]}`
	case f.publicKeys != "":
		t.Keys = publicKeysYAML(f.publicKeys, keys)
	}
	return t
}

func (f *planFlags) inRange() string {
	if !f.from.IsZero() || !f.to.IsZero() {
		return " between --from and --to"
	}
	return ""
}

// sample reads the events of the file, and counts the records that are no events.
func (f *planFlags) sample(ctx context.Context, progress *terminal.Progress) (*sample.Sample, uint64, error) {
	o := sample.Options{Step: f.demoFlags.window, Values: f.kindOf().Values}
	o.From, o.To = f.millis()
	c := sample.NewCollector(o)
	now := often()
	faults, err := f.read(ctx, func(e *event.Event) error { c.AddN(e.User, e.Key, e.Millis, e.Value, 1); return nil }, func(records uint64) {
		if now() {
			progress.Note("%s read", terminal.Count(int(records), "record"))
		}
	})
	if err != nil {
		return nil, 0, err
	}
	if err := f.refuseCharset(faults, c.Seen()+faults.Total()); err != nil {
		return nil, 0, err
	}
	if err := f.refuseValues(faults, c.Seen()+faults.Total()); err != nil {
		return nil, 0, err
	}
	if err := f.refuseUndecodable(faults, c.Seen()+faults.Total()); err != nil {
		return nil, 0, err
	}
	noteFaults(progress, faults.Texts())
	if _, err := f.refuseTimes(faults, c.Seen()+faults.Total()); err != nil {
		return nil, 0, err
	}
	noteTimes(progress, faults, &f.inputFlags)
	if f.unnamed > 0 && !f.named {
		return nil, 0, f.noUsers()
	}
	noteUnnamed(progress, f.noUser, f.unnamed+faults.Unnamed(), faults.Blank())
	noteWithoutValue(progress, f.noValue, faults.WithoutValue())
	return c.Sample(), faults.Total(), nil
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
func (f *planFlags) read(ctx context.Context, fn func(*event.Event) error, progress func(records uint64)) (*eventfile.Faults, error) {
	var records uint64
	layout := f.layout()
	faults := eventfile.NewFaults(layout)
	if f.noUser != "" {
		layout.NoUser = event.NoUserEach // else such a record is broken
	}
	var namer event.Namer
	err := eventfile.Scan(f.input, eventfile.OptionsOf(layout, f.header), func(h eventfile.Head) (func(eventfile.Record) error, error) {
		faults.Begin(h)
		decoder, err := event.NewDecoder(h.Of(layout))
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

func (a *app) printAdvice(answer *advice.Advice, f *planFlags, broken uint64) error {
	if err := f.savePlan(answer); err != nil {
		return err
	}
	return a.printAs(f.format, answer, func(b *strings.Builder) { b.WriteString(adviceText(answer, f, broken)) })
}
