// Package command has what all commands share: the configuration file and its flags, exit codes,
// errors in flags, signals, the format of the log, and output as text or as JSON.
package command

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// App is what a command may use of the world outside.
type App struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Variables      func() []string // the names of all variables; nil: none
	Release        Release
	Exit           func() // ends the process with exitError, at a further signal
	running        bool   // the flags were accepted, and a command is at work
}

// Run marks where the checks of cobra end and the command begins.
func (a *App) Run(fn func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a.running = true
		return fn(cmd)
	}
}

// TopFlag is for commands that print released values.
func TopFlag(cmd *cobra.Command, top *int) {
	cmd.Flags().IntVar(top, "top", 0, "table: show only the N keys with the largest values in every window (default: "+
		"all keys, in order)")
}

func CheckTop(top int, f cli.Format, changed func(string) bool) error {
	switch {
	case !changed("top"):
		return nil
	case top < 1:
		return Must("top", "at least 1")
	case f != cli.Table:
		return Usage(errors.New("--top is for the table: leave it out with --format json, which has all values"))
	}
	return nil
}

// Progress returns the notes that a command writes to stderr while it works.
func (a *App) Progress() *terminal.Progress {
	tty, _ := terminal.Terminal(a.Stderr)
	return terminal.NewProgress(a.Stderr, tty, time.Now)
}

// NoArguments refuses arguments without a flag: nearly always a file whose flag was left out, or
// what another flag accepts; "" for none.
func NoArguments(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant, first := "leave it out", secret.Redact(args[0])
		if flag != "" {
			meant = fmt.Sprintf("is %s %s meant?", flag, first)
		}
		return Usage(fmt.Errorf("%s takes no argument without a flag, and %q has none: %s", cmd.Name(), first, meant))
	}
}
