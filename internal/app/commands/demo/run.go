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

// job is a demo whose flags were checked: everything that can be refused at the start has
// been refused.
type job struct {
	flags      *demoFlags
	deployment *pipeline.Deployment // for what is promised
	source     demo.Source
	secrets    demo.Secrets
	progress   *terminal.Progress
	page       *command.Page // nil: no --report
	chosen     string        // how bounds were chosen; "" where they were given
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
	if err := j.openPage(); err != nil {
		return err
	}
	if err := j.open(); err != nil {
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
	if err := j.savePage(); err != nil {
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

// compile sets the deployment by the flags.
func (j *job) compile() (err error) {
	j.deployment, err = j.flags.deployment(j.flags.Settings)
	return err
}

// readPublicKeys sets the public keys; nil if keys are private.
func (f *demoFlags) readPublicKeys() (err error) {
	switch {
	case f.keys == keysPrivate:
	case f.publicKeys != "":
		f.PublicKeys, err = readPublicKeys(f.publicKeys)
	case f.input == "":
		f.PublicKeys = generate.Names(max(1, min(f.stream.Keys, 1<<16)))
	case f.keyField == "":
		f.PublicKeys = []string{""} // one count of all events: that there is one is not a secret
	}
	if err == nil && f.PublicKeys != nil && f.given("delta-keys") {
		return command.Usage(errors.New("--delta-keys is only used with private keys: leave it out"))
	}
	return err
}

// open makes the source and the keys.
func (j *job) open() error {
	f := j.flags
	if f.input == "" {
		return j.openGenerated()
	}
	return j.openFile()
}

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
	s.Kind = "" // the default, so that a seed keeps its noise
	j.secrets, err = demo.SeededSecrets(s, source)
	return err
}

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
		// Records without a user need not be broken, but with a misspelt field, each would be a
		// user.
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

// fileOptions say how the file is read.
func (f *demoFlags) fileOptions() demo.FileOptions {
	return demo.FileOptions{
		Path: f.input, Format: f.layout(), NoUser: f.NoUser, Header: f.header,
		From: f.from.Time, To: f.to.Time, Window: f.Window,
	}
}

// present runs the job and prints what it releases; it returns the values.
func (a *app) present(ctx context.Context, j *job) (demo.Result, map[cell]float64, error) {
	turns := j.turns()
	j.progress.Expect(turns)
	if turns > manyTurns {
		j.progress.Note("%s take long: a larger --window, or --from and --to, make it shorter", terminal.Count(turns,
			"window"))
	}
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

// manyTurns is more than a user waits for without having asked for it.
const manyTurns = 20_000

// refuseLong refuses a range of very many windows that was not asked for: one record far away
// in time makes one.
func (j *job) refuseLong(file *demo.File) error {
	f := j.flags
	turns := j.turns()
	if turns <= manyTurns || f.allWindows || !f.from.IsZero() && !f.to.IsZero() {
		return nil
	}
	return fmt.Errorf("reading input file %s: its events are in %s of %s, which take long: %s; or go on with "+
		"--all-windows",
		eventfile.Name(f.input), terminal.Count(turns, "window"), timespan.Text(f.Window), file.Stretched())
}

// turns returns how many windows are to be settled.
func (j *job) turns() int {
	from, to := j.source.Range()
	// Time.Sub is limited to 292 years
	return int((to.UnixMilli() - from.UnixMilli()) / j.flags.Window.Milliseconds())
}

// verify checks that every record is accounted for. What it says has no numbers: they are in the
// trusted report only.
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

// sumUp prints for the owner of the input, on stderr, what became of the records, and why little or
// nothing was released. What it writes is exact, and must not be published. With --strict it
// returns an error if most records were lost. Of a run that was ended by a signal it says only what
// became of the records.
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
	causes := demo.Causes(j.flags.Settings, j.source, result, released)
	switch {
	case released == 0 && causes == nil && compared == nil: // else the comparison says why
		j.progress.Note("nothing was released, and no single cause stands out")
	case released == 0:
		j.progress.Note("nothing was released")
	}
	for _, c := range causes {
		j.progress.Note("why: %s", c)
	}
	if compared != nil {
		j.sayCompared(compared)
	}
	loss := outcomes.Lost(pipeline.Tallies{}, result.Tallies)
	return command.RefuseLosses(loss, j.flags.strict, func() {
		j.progress.Note("warning: %s of %s (%s) were lost before counting", terminal.Number(loss.Lost, 0),
			terminal.Count(int(loss.Records), "record"), outcomes.Share(loss.Lost, loss.Records))
	})
}

// openPage makes the page of --report, if one was asked for.
func (j *job) openPage() error {
	if j.flags.report == "" {
		return nil
	}
	page, err := command.OpenPage(j.flags.report, j.deployment)
	j.page = page
	return err
}

// describePage adds to the page what is special about a demo. The source must be open.
func (j *job) describePage() {
	if j.page == nil {
		return
	}
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
	j.page.Options.Zone = string(j.flags.times.Zone)
	j.page.Describe("Tollgate demo", source, notes...)
}

// addError adds to the page how far its values are from the real counts, where the events are made
// up: of a file that is as secret as its records, and the page is public.
func (j *job) addError(c *comparison) {
	if j.page == nil || c == nil || j.flags.input != "" {
		return
	}
	text := c.text(j.flags, "")
	j.page.Options.Error = words.Capital(text) + "."
}

// collect keeps the releases of a turn for the page.
func (j *job) collect(t demo.Turn) {
	if j.page == nil {
		return
	}
	j.page.Add(0, t.End, t.Releases)
}

// savePage writes the page, also of a run that was ended by a signal.
func (j *job) savePage() error {
	if j.page == nil {
		return nil
	}
	if err := j.page.Save(); err != nil {
		return err
	}
	j.progress.Note("report written to %s", j.flags.report)
	return nil
}
