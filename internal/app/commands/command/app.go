// Package command implements the parts that all commands share: the configuration file and its
// flags, exit codes, errors in flags, signals, the format of the log, and output as text or JSON.
package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// App gives commands access to the process around them: streams, environment, exit.
type App struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Variables      func() []string // the names of all environment variables; nil: none
	Release        Release
	Exit           func() // ends the process with ExitError, at a second or third signal
	running        bool   // the flags were accepted and the command has started
}

// Run wraps the function of a command, which starts when the checks of cobra are done. It refuses
// flags with an empty value.
func (a *App) Run(fn func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a.running = true
		var empty error
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			list, isList := flag.Value.(pflag.SliceValue)
			if flag.Value.Type() == "string" && flag.Value.String() == "" || isList && len(list.GetSlice()) == 0 {
				empty = Usage(fmt.Errorf("--%s is empty: give it a value, or leave it out", flag.Name))
			}
		})
		if empty != nil {
			return empty
		}
		return fn(cmd)
	}
}

// Progress returns a writer of notes to stderr while a command works.
func (a *App) Progress() *terminal.Progress {
	return terminal.NewProgress(a.Stderr, time.Now)
}

// NoArguments refuses arguments without a flag. Such an argument is nearly always a value whose
// flag was left out: the error suggests flag, unless it is "".
func NoArguments(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint, first := "leave it out", secret.Redact(args[0])
		if flag != "" {
			hint = fmt.Sprintf("is %s %s meant?", flag, first)
		}
		return Usage(fmt.Errorf("%s takes no argument without a flag, and %q has none: %s", cmd.Name(), first, hint))
	}
}

// New returns a command with the texts in help: a summary in one line, a description, command lines
// under "Examples:", and descriptions of the flags, under "Flags:" or the titles of groups. In
// groups, a star marks the flags that --help shows. register adds the flags. values are pairs of a
// placeholder in help and its replacement.
func (a *App) New(use, help string, register func(*cobra.Command), work func(*cobra.Command) error,
	values ...string) *cobra.Command {
	help = strings.NewReplacer(values...).Replace(help)
	short, long, _ := strings.Cut(help, "\n")
	long, example, _ := strings.Cut(long, "\nExamples:\n")
	example, flags, _ := strings.Cut(example, "\n\n")
	cmd := &cobra.Command{Use: use, Short: short, Long: strings.TrimSpace(long),
		Example: strings.TrimRight(example, "\n"), RunE: a.Run(work)}
	cmd.Flags().SortFlags = false
	register(cmd)
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	cmd.Args = NoArguments(append(names, "")[0])
	describe(cmd, flags)
	return cmd
}

// describe sets the descriptions of a command's flags, and their groups if there are any.
func describe(cmd *cobra.Command, text string) {
	var flag *pflag.Flag
	var usual []string
	title := ""
	for line := range strings.Lines(text) {
		words, star := strings.Fields(line), strings.HasPrefix(line, "* ")
		switch {
		case len(words) == 0:
			continue
		case line[0] != ' ' && !star:
			title, words = strings.TrimSuffix(strings.TrimSpace(line), ":"), nil
		case star:
			words, usual = words[1:], append(usual, words[1])
			fallthrough
		case line[2] != ' ':
			if flag = cmd.Flags().Lookup(words[0]); flag != nil && title != "Flags" {
				cli.Group(flag, title)
			}
			words = words[1:]
		}
		if flag != nil {
			flag.Usage = strings.TrimSpace(flag.Usage + " " + strings.Join(words, " "))
		}
	}
	if usual != nil {
		cli.GroupHelp(cmd, usual...)
	}
}

// Execute runs one command line and returns the exit code.
func Execute(ctx context.Context, a *App, build func(*App) *cobra.Command, args []string) int {
	a.Stdout, a.Stderr = terminal.Printable(a.Stdout), terminal.Printable(a.Stderr)
	if len(args) > 0 && strings.HasPrefix(args[0], "--id=") { // Flink starts a worker without naming a command
		args = append([]string{"worker"}, args...)
	}
	root := build(a)
	root.SetArgs(args)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cli.Prepare(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if parent, rest, unknown := root.Find(args); unknown != nil {
		isFlag := func(arg string) bool { return strings.HasPrefix(arg, "-") }
		err = cmp.Or(cli.UnknownCommand(parent, slices.DeleteFunc(slices.Clone(rest), isFlag)), err)
	}
	text := fmt.Sprintf("error: %v\n", err)
	code := ExitCode(err)
	if !a.running {
		code = ExitUsage
		for _, arg := range args { // cobra repeats the name of an unknown command
			text = strings.ReplaceAll(text, arg, secret.Redact(arg))
		}
	}
	if code == ExitUsage {
		text += fmt.Sprintf("see %s --help\n", cmd.CommandPath())
	}
	a.writeError(text)
	return code
}
