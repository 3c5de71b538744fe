// Package run implements the command that reads events, publishes counts and prints them.
package run

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// app gives the command access to the process around it.
type app struct{ *command.App }

// runFlags are the flags of run as they were given.
type runFlags struct {
	config        string
	until         command.TimeValue
	untilEnd      bool
	wait          time.Duration
	format        cli.Format
	trustedReport string
	report        string
	engine        string
	flink         secret.URL // of the JobManager
	parallelism   int
	readers       int
	strict        bool
	waitForBroker time.Duration
	monitorFlags
}

//go:embed run.txt
var help string

func Command(c *command.App) *cobra.Command {
	a, f := &app{c}, &runFlags{engine: direct, until: command.TimeValue{Words: []string{"now"}}}
	cmd := a.New("run", help, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &f.config)
		flags := cmd.Flags()
		flags.Var(&f.until, "until", "")
		flags.BoolVar(&f.untilEnd, "until-end", false, "")
		command.DurationFlag(flags, &f.wait, "wait", 0, "")
		cli.FormatFlag(cmd, &f.format)
		flags.StringVar(&f.trustedReport, "trusted-report", "", "")
		flags.StringVar(&f.report, "report", "", "")
		flags.Var(cli.OneOf(&f.engine, direct, flinkNamed), "engine", "")
		flags.Var(cli.Parsed("string", func() string { return f.flink.String() }, func(text string) error {
			f.flink = secret.NewURL(text)
			return nil
		}), "flink", "")
		flags.IntVar(&f.parallelism, "parallelism", 1, "")
		flags.IntVar(&f.readers, "readers", 0, "")
		command.StrictFlag(cmd, &f.strict)
		flags.StringVar(&f.listen, "listen", "", "")
		flags.BoolVar(&f.trusted, "metrics-trusted", false, "")
		flags.BoolVar(&f.profiles, "pprof", false, "")
		command.DurationFlag(flags, &f.waitForBroker, "wait-for-broker", defaultWaitForBroker, "")
	}, func(cmd *cobra.Command) error { return a.runDeployment(cmd.Context(), f, cmd.Flags().Changed) })
	a.LogFlag(cmd)
	return cmd
}

// ends reports whether the run ends by itself.
func (f *runFlags) ends() bool { return f.untilEnd || !f.until.IsZero() }

func (f *runFlags) check(changed func(string) bool) error {
	switch {
	case changed("until") && f.untilEnd:
		return command.Usage(errors.New("--until and --until-end both determine where the run ends: choose one"))
	case changed("wait") && !f.ends():
		return command.Usage(errors.New("--wait is only used with --until-end or --until"))
	case changed("wait") && f.wait <= 0:
		return command.Must("wait", "above 0")
	}
	return cmp.Or(f.checkCluster(changed), f.checkMonitor(),
		command.CheckOverwrite(command.Reports(f.report, f.trustedReport)))
}

func (a *app) runDeployment(ctx context.Context, f *runFlags, changed func(string) bool) error {
	if err := f.check(changed); err != nil {
		return err
	}
	d, err := a.Load(f.config, config.Options{})
	if err != nil {
		return err
	}
	f.until = command.TimeValue{Time: f.until.Moment(d.Config.Time.WindowZone)}
	if err := d.CheckOverwrite(command.Reports(f.report, f.trustedReport)...); err != nil {
		return err
	}
	if err := a.WarnAbout(d, f.strict, true); err != nil {
		return err
	}
	if err := command.CheckTrusted(f.trustedReport); err != nil {
		return err
	}
	page, err := command.OpenPage(f.report, d.Deployment)
	if err != nil {
		return err
	}
	page.Describe(d.Config.Deployment, "counts topic "+d.Config.Outputs.Counts+", values that this run published")
	progress := a.Progress()
	defer progress.Flush()
	state, stopServer, err := f.serve(a, progress)
	if err != nil {
		return err
	}
	defer stopServer()
	losses := &losses{d: d.Deployment, wanted: f.ends(), strict: f.strict, badValues: make(chan struct{})}
	result, signalled, err := a.publish(ctx, f, d, newRunOutput(a, f.format, d.Deployment, progress, page),
		losses, state)
	var tallies pipeline.Tallies
	if err == nil && (f.trustedReport != "" || losses.wanted) {
		tallies, err = pipeline.TrustedReport(ctx, d.Deployment)
		switch {
		case err != nil && f.trustedReport == "" && !f.strict: // the run itself succeeded
			losses.wanted = false
			progress.Note("%v", lossesUnknown(err))
			err = nil
		case err == nil:
			err = command.SaveTrusted(f.trustedReport, tallies)
		}
	}
	progress.Done(summary(f, result, signalled, err))
	if err != nil {
		return d.Explained(err)
	}
	if result.Drained && !signalled && fired(losses.badValues) {
		return errBadValues
	}
	if result.Drained && signalled {
		return nil // the signal asked for this
	}
	if err := unfinished(result, time.Now()); err != nil || result.Drained {
		return err
	}
	return losses.end(f, tallies, progress)
}

// publish runs the pipeline and prints what it publishes. ended reports whether a signal told it to
// end. publish calls lost.begin before the run settles anything.
func (a *app) publish(ctx context.Context, f *runFlags, d *command.Loaded, out *runOutput, lost *losses,
	state func(pipeline.RunState)) (result pipeline.RunResult, ended bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	drain := make(chan struct{})
	halt := sync.OnceFunc(func() { close(drain) })
	var begun atomic.Bool
	var workers *pipeline.Workers
	second := a.Exit
	if f.engine == flinkNamed {
		if workers, err = startFlink(a, f, out.progress); err != nil {
			return result, false, err
		}
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		second = func() {
			out.progress.Mention("cancelling the job")
			cancel(errors.New("a second signal cancelled the run; the next run repeats the unfinished work"))
		}
	}
	signalled, release := a.DrainOnSignal(out.progress, func() string {
		if begun.Load() {
			return command.FinishingTurn
		}
		return "ending; the run has not begun anything yet"
	}, second)
	defer release()
	// If the reader of stdout goes away, printing fails and the run is drained. By default, SIGPIPE
	// would kill the process.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	log := a.Logger(out.progress, slog.LevelWarn)
	client, err := awaitBroker(ctx, f, d, log, signalled)
	if err != nil {
		return result, false, err
	}
	begun.Store(true)
	var over <-chan time.Time
	if f.wait > 0 {
		over = time.After(f.wait)
	}
	go func() {
		select {
		case <-signalled:
		case <-out.failed:
		case <-lost.badValues:
			out.progress.Mention("%s", command.FinishingTurn)
		case <-over:
			out.progress.Mention("--wait %v is over: %s", f.wait, command.FinishingTurn)
		case <-ctx.Done():
			return
		}
		halt()
	}()
	result, err = pipeline.Run(ctx, d.Deployment, pipeline.RunOptions{
		Client: client, Workers: workers, Readers: cmp.Or(f.readers, f.parallelism), Logger: log,
		Until: f.until.Time, UntilEnd: f.untilEnd, Drain: drain, OnSettled: out.settle, Strict: f.strict,
		OnTakeOver: func(from string) {
			out.progress.Mention("taking over from %s, unless it has ended", from)
		},
		OnStart: func(from pipeline.Position) {
			lost.begin(ctx, drain)
			out.begin(ctx, from.Turn, time.Second, func(ctx context.Context, fn func(pipeline.Published) error) error {
				return pipeline.FollowReleases(ctx, d.Deployment, pipeline.FollowOptions{From: &from}, fn)
			})
		}, OnProgress: out.expect,
		OnState: func(s pipeline.RunState) {
			lost.observe(s)
			state(s)
		},
	})
	if out.handout != nil && !errors.Is(err, pipeline.ErrNoBroker) { // without brokers nothing more can be printed
		hurry := signalled
		if err != nil { // printing fails for the same reason
			now := make(chan struct{})
			close(now)
			hurry = now
		}
		out.wait(hurry)
	}
	stop()
	if out.handout != nil {
		out.handout.Leave()
	}
	ended = fired(signalled)
	return result, ended, out.finish(result, err, ended)
}

func fired(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// defaultWaitForBroker is the time that brokers need to restart on a healthy machine.
const defaultWaitForBroker = 30 * time.Second

// awaitBroker connects to a broker. It waits for one to start, but not after a signal.
func awaitBroker(ctx context.Context, f *runFlags, d *command.Loaded, log *slog.Logger,
	signalled <-chan struct{}) (*pipeline.Client, error) {
	ctx, end := endedBy(ctx, signalled, errors.New("a signal ended the wait, before the run began anything"))
	defer end()
	return pipeline.AwaitBroker(ctx, d.Deployment, f.waitForBroker, log)
}

// endedBy returns a context that ends with ctx, or with the cause why once a channel is closed.
func endedBy(ctx context.Context, closed <-chan struct{}, why error) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-closed:
			end(why)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

// summary describes the end of a run that succeeded or was drained; "" for other runs.
func summary(f *runFlags, result pipeline.RunResult, signalled bool, err error) string {
	switch {
	case result.Drained && (result.OpenTurns == 0 && !result.Unread || signalled || err != nil):
		return drained(result)
	case err != nil || result.Superseded || result.OpenTurns > 0 || result.Unread:
		return ""
	case !f.until.IsZero():
		return fmt.Sprintf("every window that ends by %s is settled", &f.until)
	case f.untilEnd:
		return "every window that ended by the last event on the topic is settled"
	}
	return ""
}

func drained(result pipeline.RunResult) string {
	if result.Settled == 0 {
		return "drained: no turn was settled; run again to continue"
	}
	return fmt.Sprintf("drained: everything up to turn %s is published; run again to continue",
		terminal.Number(float64(result.Settled), 0))
}

// unfinished returns the error of a run that did not do what was asked.
func unfinished(result pipeline.RunResult, now time.Time) error {
	switch {
	case result.Superseded:
		return fmt.Errorf("%s has taken over: end one of the two runs; if a supervisor restarts this one, stop it "+
			"there",
			cmp.Or(result.Successor, "another run of this deployment, or tollgate change,"))
	case result.Drained && result.Unread:
		return errors.New("the run ended before it had read every event that was on the topic at its start: run " +
			"again to continue")
	case result.Drained && result.OpenTurns > 0:
		return fmt.Errorf("some of the windows that the run should have settled are open: %s; run again to continue",
			openTurns(result, now))
	}
	return nil
}

// openTurns describes how many turns are open, until when, and what closes them.
func openTurns(result pipeline.RunResult, now time.Time) string {
	text, o := "1 turn is open", &result.Open
	if result.OpenTurns > 1 {
		text = terminal.Number(float64(result.OpenTurns), 0) + " turns are open"
	}
	text += ", the last one until " + command.Moment(o.WindowEnd, now)
	if !now.Before(o.Latest) {
		return text + "; a run that continues reading will close it"
	}
	return text + fmt.Sprintf("; it closes once every partition has records from %s on; for a silent partition the "+
		"clock counts instead, at %s", command.Moment(o.Earliest, now), command.Moment(o.Latest, now))
}
