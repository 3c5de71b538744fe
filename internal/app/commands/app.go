package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// app has what a command may use of the world outside.
type app struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	variables      func() []string // the names of all variables; nil: none
	release        Release
	exit           func() // ends the process with exitError, at a further signal
	running        bool   // the flags were accepted, and a command is at work
}

// execute runs one command line and returns the exit code.
func (a *app) execute(ctx context.Context, args []string) int {
	a.stdout, a.stderr = terminal.Printable(a.stdout), terminal.Printable(a.stderr)
	if len(args) > 0 && strings.HasPrefix(args[0], "--id=") { // Flink starts a worker without naming a command
		args = append([]string{"worker"}, args...)
	}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := known(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitOK
	}
	text := fmt.Sprintf("error: %v\n", err)
	if wrong := (*badValue)(nil); errors.As(err, &wrong) {
		text = fmt.Sprintf("error: %s\n", wrong.explain(cmd.Flag(wrong.flag)))
	}
	code := exitCode(err)
	if !a.running {
		code = exitUsage
	}
	if code == exitUsage {
		text += fmt.Sprintf("see %s --help\n", cmd.CommandPath())
	}
	a.sayError(text)
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tollgate",
		Short: "Counts per window and key from Kafka, with a privacy budget for every user",
		Long: `Tollgate counts events per window and key, and adds as much noise to each count as the
accuracy target allows. Every user has a privacy budget; when a count could cost a
user more than is left, Tollgate leaves that user out of it.

To try Tollgate without Kafka: demo. On Kafka, describe a deployment in a file, check
it with validate, begin it with init and start it with run.

Exit codes:
  0  done; also if a signal ended the run after its open turn
  1  a broker, a topic, an input file or an output failed; the deployment has
     stopped itself (STOP); another run has taken over; or --wait ran out
  2  a flag is wrong
  3  the configuration or a key file is wrong; the configuration is not the one
     that the deployment has; or --strict turned a warning into an error
  4  with --strict, at the end of demo or of a run that ends: more than half of the
     records were lost before counting`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetHelpCommand(helpCommand())
	root.Version = a.versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(a.initialise(), a.runCommand(), a.serve(), a.change(), a.status(), a.statement(), a.recover(), a.replay(), a.validate(), a.plan(), a.demo(), a.budget(), a.probe(), a.version(), a.man())
	for _, command := range taggedCommands {
		root.AddCommand(command(a))
	}
	cli.Prepare(root)
	return root
}

// run marks where the checks of cobra end and the command begins.
func (a *app) run(fn func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a.running = true
		return fn(cmd)
	}
}

// topFlag is for commands that print released values.
func topFlag(cmd *cobra.Command, top *int) {
	cmd.Flags().IntVar(top, "top", 0, "table: show only the N keys with the largest values in every window (default: all keys, in order)")
}

func checkTop(top int, f cli.Format, changed func(string) bool) error {
	switch {
	case !changed("top"):
		return nil
	case top < 1:
		return must("top", "at least 1")
	case f != cli.Table:
		return usage(errors.New("--top is for the table: leave it out with --format json, which has all values"))
	}
	return nil
}

// noArguments refuses arguments without a flag: nearly always a file whose flag was left out, or
// what another flag accepts; "" for none.
func noArguments(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant, first := "leave it out", secret.Redact(args[0])
		if flag != "" {
			meant = fmt.Sprintf("is %s %s meant?", flag, first)
		}
		return usage(fmt.Errorf("%s takes no argument without a flag, and %q has none: %s", cmd.Name(), first, meant))
	}
}
