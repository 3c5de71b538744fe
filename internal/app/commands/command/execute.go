package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

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
	text := fmt.Sprintf("error: %v\n", err)
	if wrong := (*badValue)(nil); errors.As(err, &wrong) {
		text = fmt.Sprintf("error: %s\n", wrong.explain(cmd.Flag(wrong.flag)))
	}
	code := ExitCode(err)
	if !a.running {
		code = ExitUsage
	}
	if code == ExitUsage {
		text += fmt.Sprintf("see %s --help\n", cmd.CommandPath())
	}
	a.sayError(text)
	return code
}
