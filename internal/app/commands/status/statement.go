package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func Statement(c *command.App) *cobra.Command {
	a := &app{c}
	var (
		path string
		f    cli.Format
	)
	cmd := &cobra.Command{
		Use:   "statement USER",
		Short: "Show what one user has spent of the privacy promise",
		Long: `Show what one user has spent of the privacy promise, as of the last counts: the share
of the budget, the ε of all releases together, and what is left of each metric's
allowance. statement only reads, so a run may go on. It needs the user-hash key, so
only the trusted side can run it. Show the result to nobody but this user.

USER is the id as it is in the events. With -, statement reads it from the standard
input, so that it does not stay in the history of the shell. A statement does not cover
budget periods that are over.`,
		Example: `  tollgate statement u17 --config tollgate.yaml
  echo -n u17 | tollgate statement - --config tollgate.yaml --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.Usage(errors.New("give one user id, or - to read it from the standard input"))
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &path)
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		return a.runStatement(cmd.Context(), path, cmd.Flags().Arg(0), cmd.InOrStdin(), f)
	})
	return cmd
}

func (a *app) runStatement(ctx context.Context, path, user string, stdin io.Reader, f cli.Format) error {
	id := []byte(user)
	if user == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("reading the user id from the standard input: %w", err)
		}
		id = bytes.TrimRight(text, "\r\n")
	}
	d, err := a.Reach(ctx, path, config.Options{WithoutRegistries: true})
	if err != nil {
		return err
	}
	s, err := pipeline.ReadStatement(ctx, d.Deployment, id)
	if err != nil {
		return d.Explained(err)
	}
	return a.PrintAs(f, s, func(b *strings.Builder) { writeStatement(b, s) })
}

// writeStatement writes a statement for people. It does not repeat the user's id.
func writeStatement(b *strings.Builder, s *pipeline.Statement) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("deployment", "%s, counts up to %s", terminal.Key(s.Deployment, 60), s.AsOf.Format(time.RFC3339))
	line("promise", "(%s, %s)-differential privacy", words.Digits(s.Epsilon), words.Digits(s.Delta))
	if s.Planned > 0 {
		line("", "of which %s were spent on choosing settings", words.Percent(s.Planned))
	}
	if len(s.Accounts) == 0 {
		line("spent", "nothing: no released value counts this user, or only values of periods that are over")
	}
	for _, a := range s.Accounts {
		if a.From != nil {
			line("period", "%s to %s", a.From.Format(time.RFC3339), a.To.Format(time.RFC3339))
		}
		line("spent", "%s of the budget: all values together are ε = %s at δ = %s", words.Percent(a.Share),
			words.Digits(a.Epsilon), words.Digits(s.Delta))
		for _, left := range a.Allowances {
			line("allowance", "%s: %s left", terminal.Key(left.Metric, 40), words.Percent(left.Left))
		}
	}
}
