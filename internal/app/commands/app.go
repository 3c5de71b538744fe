package commands

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/audit"
	"github.com/tollgate-dp/tollgate/internal/app/commands/budget"
	"github.com/tollgate-dp/tollgate/internal/app/commands/change"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/demo"
	"github.com/tollgate-dp/tollgate/internal/app/commands/dlq"
	"github.com/tollgate-dp/tollgate/internal/app/commands/initialise"
	"github.com/tollgate-dp/tollgate/internal/app/commands/replay"
	"github.com/tollgate-dp/tollgate/internal/app/commands/run"
	"github.com/tollgate-dp/tollgate/internal/app/commands/serve"
	"github.com/tollgate-dp/tollgate/internal/app/commands/status"
	"github.com/tollgate-dp/tollgate/internal/app/commands/validate"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/schemas"
)

//go:embed tollgate.txt
var help string

// rootCommand returns the command tollgate with all its subcommands.
func rootCommand(a *command.App) *cobra.Command {
	root := a.New("tollgate", help, func(*cobra.Command) {}, (*cobra.Command).Help)
	root.Args = nil // so that cobra refuses an unknown command before it reads flags
	root.Version = versionLine(a)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(initialise.Command(a), run.Command(a), serve.Command(a), change.Command(a), status.Command(a),
		status.Statement(a), status.Forget(a), status.Promise(a), audit.Command(a), status.Recover(a),
		replay.Command(a),
		dlq.Command(a), validate.Command(a), demo.Plan(a), demo.Command(a),
		budget.Command(a), serve.Probe(a), version(a), man(a))
	if run.Worker != nil {
		root.AddCommand(run.Worker(a))
	}
	return root
}

// Main runs the command line of this process and returns its exit code. It calls exit only when a
// second signal, or a third one for some commands, ends the process at once.
func Main(r command.Release, exit func(code int)) int {
	// Libraries that log to the default logger may write a key or a count. Our own
	// packages log to loggers that they are given.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a := &command.App{Stdout: os.Stdout, Stderr: cli.OwnStderr(), Getenv: os.Getenv, Variables: config.Process().Names,
		Release: r, Exit: func() { exit(command.ExitError) }}
	return command.Execute(context.Background(), a, rootCommand, os.Args[1:])
}

//go:embed man.txt
var manHelp string

// man writes a manual page for each command.
func man(a *command.App) *cobra.Command {
	var dir string
	return a.New("man", manHelp, func(cmd *cobra.Command) {
		cmd.Flags().StringVar(&dir, "dir", "", "")
		cmd.MarkFlagRequired("dir") //nolint:errcheck // the flag exists
	}, func(cmd *cobra.Command) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		day := time.Unix(0, 0).UTC() // so that the pages are the same whenever they are made
		header := &doc.GenManHeader{Title: "TOLLGATE", Section: "1", Date: &day, Source: "Tollgate " +
			a.Build().Version, Manual: "Tollgate"}
		root := cmd.Root()
		root.DisableAutoGenTag = true
		if err := doc.GenManTree(root, header, dir); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		return nil
	})
}

func version(a *command.App) *cobra.Command {
	var f cli.Format
	const help = "Print the version, its build, the formats that it writes and reads, and its engines"
	return a.New("version", help, func(cmd *cobra.Command) { cli.FormatFlag(cmd, &f) }, func(*cobra.Command) error {
		b := a.Build()
		return a.PrintFields(f, []any{
			"module", b.Module, "version", b.Version, "revision", b.Revision,
			"go", runtime.Version(), "platform", runtime.GOOS + "/" + runtime.GOARCH,
			"formats", command.Names(formats()),
			"engines", command.Names(run.EngineNames()),
		})
	})
}

// formats lists the formats on a deployment's topics, each with its version.
func formats() (all []string) {
	for _, f := range schemas.FormatVersions() {
		all = append(all, fmt.Sprintf("%s %d", f.Format, f.Version))
	}
	return all
}

// versionLine returns the line that --version prints.
func versionLine(a *command.App) string {
	b := a.Build()
	return b.Module + " " + b.Version + ", revision " + b.Revision + ", " + runtime.Version()
}
