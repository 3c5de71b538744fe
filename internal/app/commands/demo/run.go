package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/state/units"
)

// job is a demo whose flags have been checked: everything that can be refused at the start has been
// refused.
type job struct {
	flags      *demoFlags
	deployment *pipeline.Deployment // compiled settings, with the promise
	source     demo.Source
	secrets    demo.Secrets
	progress   *terminal.Progress
	page       *command.Page // of --report
	chosen     string        // how settings were chosen; "" if they were given
}

func (a *app) runDemo(ctx context.Context, f *demoFlags, changed func(string) bool) (err error) {
	j := &job{flags: f, progress: a.Progress()}
	defer j.progress.Flush()
	if err := f.check(changed); err != nil {
		return err
	}
	if err := j.compile(); err != nil {
		return err
	}
	if err := a.Warn(f.warnings(j.deployment), f.strict); err != nil {
		return err
	}
	if err := command.CheckTrusted(f.trustedReport); err != nil {
		return err
	}
	if j.page, err = command.OpenPage(f.report, j.deployment); err != nil {
		return err
	}
	open := j.openFile
	if f.input == "" {
		open = j.openGenerated
	}
	if err := open(); err != nil {
		return err
	}
	j.describePage()
	if file, ok := j.source.(*demo.File); ok {
		defer file.Close() //nolint:errcheck // it was only read
	}
	result, values, err := a.present(ctx, j)
	if err != nil {
		return err
	}
	if result.Drained && result.Turns == 0 {
		return errors.New("a signal ended the demo before its first window was released: nothing was written; run it " +
			"again")
	}
	compared, failed := j.compare(result, values)
	j.addError(compared)
	if err := j.page.Save(); err != nil {
		return err
	}
	if err := command.SaveTrusted(f.trustedReport, result.Tallies); err != nil {
		return err
	}
	if err := j.verify(result); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return j.sumUp(result, len(values), compared)
}

// compile sets the deployment from the flags.
func (j *job) compile() (err error) {
	j.deployment, err = j.flags.deployment(j.flags.Settings)
	return err
}

// readPublicKeys sets the public keys; nil if keys are private.
func (f *demoFlags) readPublicKeys() (err error) {
	switch {
	case f.publicKeys != "":
		f.PublicKeys, err = readPublicKeys(f.publicKeys)
	case f.input == "":
		f.PublicKeys = generate.Names(max(1, min(f.stream.Keys, 1<<16)))
	case f.keyField == "":
		f.PublicKeys = []string{""} // one count of all events, whose existence is no secret
	}
	switch {
	case err != nil || !f.given("delta-keys"):
		return err
	case f.PublicKeys != nil:
		return command.Usage(errors.New("--delta-keys is only used with private keys: leave it out"))
	case f.DeltaKeys == 0:
		return command.Must("delta-keys", "above 0 and below --delta, %v", f.Delta)
	}
	return nil
}

// openGenerated opens the source of made-up events, and derives its keys.
func (j *job) openGenerated() error {
	c := j.flags.stream
	c.Window = j.flags.Window
	source, err := demo.NewGenerated(c)
	if out := (*units.RangeError)(nil); errors.As(err, &out) && out.Parameter == "keys" {
		return command.Must("keys-count", "%s", out.Range)
	}
	if err != nil {
		return command.Usage(command.FlagError(err))
	}
	j.source = source
	s := j.flags.Settings
	s.Kind = "" // the default, so that a seed always gives the same noise
	j.secrets, err = demo.SeededSecrets(s, source)
	return err
}

// openFile draws keys, reads the file and chooses the settings that were not given.
func (j *job) openFile() (err error) {
	if j.secrets, err = demo.RandomSecrets(); err != nil {
		return err
	}
	source, err := j.read()
	if err != nil {
		return err
	}
	if err = j.choose(j.secrets.Noise); err == nil {
		err = j.refuseLong(source)
	}
	if err != nil {
		return errors.Join(err, source.Close())
	}
	return nil
}

// read reads and sorts the file, and refuses one whose records may be misread.
func (j *job) read() (*demo.File, error) {
	f := j.flags
	j.progress.Note("reading and sorting %s", eventfile.Name(f.input))
	source, err := demo.OpenFile(f.fileOptions())
	if err != nil {
		return nil, f.explainFile(err)
	}
	j.source = source
	if err = source.NoRecords(); err == nil && source.NoUsers() {
		// Records without a user need not be broken, but if --user-field is misspelt, every record
		// would count as a user.
		err = fmt.Errorf("reading input file %s: no record has a user in %s: correct --user-field",
			eventfile.Name(f.input), f.userField)
	}
	if err == nil {
		err = j.refuseUnreadable(source)
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return source, nil
}

// fileOptions returns the options for reading the file.
func (f *demoFlags) fileOptions() demo.FileOptions {
	return demo.FileOptions{
		Path: f.input, Format: f.layout(), NoUser: f.NoUser, Header: f.header,
		From: f.from.Time, To: f.to.Time, Window: f.Window,
	}
}

// present runs the job, prints its releases, and returns their values.
func (a *app) present(ctx context.Context, j *job) (demo.Result, map[cell]float64, error) {
	j.progress.Expect(j.turns())
	var loaded atomic.Bool
	drain, stop := a.DrainOnSignal(j.progress, func() string {
		if loaded.Load() {
			return command.FinishingTurn
		}
		return "ending; no turn has begun"
	}, a.Exit)
	defer stop()
	p := newPrinter(a, j)
	if err := p.begin(); err != nil {
		return demo.Result{}, nil, err
	}
	result, err := demo.Run(ctx, j.flags.Settings, j.source, j.secrets, demo.Options{
		Logger: a.Logger(j.progress, slog.LevelWarn),
		Drain:  drain,
		OnLoaded: func() {
			loaded.Store(true)
			j.progress.Note("all records are on the embedded broker after %s", j.progress.Elapsed())
		},
		OnTurn: p.turn,
	})
	if err != nil {
		j.progress.Done("")
		return demo.Result{}, nil, err
	}
	return result, p.values, p.end(result)
}

// manyTurns is a number of windows that takes longer than users expect to wait.
const manyTurns = 20_000

// refuseLong returns an error for a range of very many windows unless flags ask for it: a single
// record far away in time can cause one.
func (j *job) refuseLong(file *demo.File) error {
	f := j.flags
	turns := j.turns()
	if turns <= manyTurns || f.allWindows || !f.from.IsZero() && !f.to.IsZero() {
		return nil
	}
	return fmt.Errorf("reading input file %s: its events are in %s of %s, which take a long time: %s; or continue "+
		"with --all-windows",
		eventfile.Name(f.input), terminal.Count(turns, "window"), timespan.Text(f.Window), file.Stretched())
}

// turns returns the number of windows to settle.
func (j *job) turns() int {
	from, to := j.source.Range()
	// Time.Sub is limited to 292 years
	return int((to.UnixMilli() - from.UnixMilli()) / j.flags.Window.Milliseconds())
}

// verify checks that every record is accounted for. Its note has no numbers, which only the trusted
// report has.
func (j *job) verify(result demo.Result) error {
	if err := demo.CheckTallies(result.Tallies); err != nil || result.Drained {
		return err
	}
	if result.Tallies.Read != result.Loaded {
		return fmt.Errorf("%w: records that were loaded", demo.ErrTallies)
	}
	j.progress.Note("every record is accounted for")
	return nil
}

// sumUp prints on stderr, for the owner of the input, what became of the records and why little or
// nothing was released. These numbers are exact and must not be published. With --strict it returns
// an error if most records were lost. If a signal ended the run, it prints only what became of the
// records.
func (j *job) sumUp(result demo.Result, released int, compared *comparison) error {
	j.progress.Note("%s", strings.TrimRight(outcomes.Table(result.Tallies), "\n"))
	if file, ok := j.source.(*demo.File); ok {
		j.noteFaults(file)
		if n := result.Tallies.BeforeStart; n > 0 && j.flags.from.IsZero() {
			j.progress.Note("before the start: %s before 1970, which do not count", terminal.Count(int(n), "record"))
		}
	}
	if result.Drained {
		return nil
	}
	if released == 0 {
		j.progress.Note("nothing was released")
	}
	switch m := result.Tallies.Metrics[0]; {
	case 2*m.Open > result.Tallies.Accepted:
		j.progress.Note("check --from and --to: most events are outside them")
	case 2*m.Filtered > result.Tallies.Accepted:
		j.progress.Note("check --public-keys: most events have other keys")
	}
	if compared != nil {
		j.noteComparison(compared)
	}
	loss := outcomes.Lost(pipeline.Tallies{}, result.Tallies)
	return command.RefuseLosses(loss, j.flags.strict, j.progress)
}

// describePage adds the notes that are special to a demo to the page. The source must be open.
func (j *job) describePage() {
	source, notes := "made-up events", []string{"These events are made up and their noise can be repeated: no user " +
		"is protected."}
	j.page.Options.Scope = "in this file"
	if j.flags.input == "" {
		j.page.Options.Scope = "in this demo"
		j.page.Options.Mark = "Made-up data: the events were invented for this demo."
	} else {
		source, notes = "one run over a file", []string{"Another run over the same people is another promise, and " +
			"the privacy losses add up."}
		if j.flags.from.IsZero() || j.flags.to.IsZero() {
			notes = append(notes, "The range of windows, or one end of it, comes from the data: one record far away "+
				"in time shows in it.")
		}
	}
	j.page.Options.Zone = j.flags.times.Zone
	j.page.Describe("Tollgate demo", source, notes...)
}

// addError adds the error of the values to the page if the events are made up. For a file, the
// error is as secret as the records, and the page is public.
func (j *job) addError(c *comparison) {
	if c == nil || j.flags.input != "" {
		return
	}
	text := c.text(j.flags)
	j.page.Options.Error = words.Capital(text) + "."
}
