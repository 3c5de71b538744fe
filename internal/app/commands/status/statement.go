package status

import (
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
		all  bool
		f    cli.Format
	)
	cmd := &cobra.Command{
		Use:   "statement USER",
		Short: "Show what one user has spent of the privacy promise",
		Long: `Show what one user has spent of the privacy promise, as of the last counts: the share
of the budget, the ε of all releases together, which releases it went to, and what is
left of each metric's allowance. The ledger has the releases of the last turns one by
one, and older ones as a sum. statement only reads, so a run need not end. It needs
the user-hash key, so only the trusted side can run it. Show the result to nobody but
this user.

USER is the id as it is in the events. With -, statement reads it from the standard
input, so that it does not stay in the history of the shell. A statement does not cover
budget periods that are over.

With --all-trusted and without USER, statement shows which part of the budget the users
have spent, as quantiles over all of them. They are exact, without any noise: never
publish them.`,
		Example: `  tollgate statement u17 --config tollgate.yaml
  echo -n u17 | tollgate statement - --config tollgate.yaml --format json
  tollgate statement --all-trusted --config tollgate.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return command.Usage(errors.New("give one user id or --all-trusted, not both"))
			case !all:
				return oneUser(nil, args)
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &path)
	cmd.Flags().BoolVar(&all, "all-trusted", false,
		"show exact quantiles of what all users have spent, for the trusted side only")
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		if all {
			return a.runAll(cmd.Context(), path, f)
		}
		return a.runStatement(cmd.Context(), path, cmd.Flags().Arg(0), cmd.InOrStdin(), f)
	})
	return cmd
}

func (a *app) runStatement(ctx context.Context, path, user string, stdin io.Reader, f cli.Format) error {
	id, err := userID(user, stdin)
	if err != nil {
		return err
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

func (a *app) runAll(ctx context.Context, path string, f cli.Format) error {
	d, err := a.Reach(ctx, path, config.Options{WithoutRegistries: true})
	if err != nil {
		return err
	}
	all, asOf, err := pipeline.ReadSpentByAll(ctx, d.Deployment)
	if err != nil {
		return d.Explained(err)
	}
	value := struct {
		AsOf    time.Time             `json:"as_of"`
		Periods []pipeline.SpentByAll `json:"periods"`
	}{asOf, all}
	return a.PrintAs(f, value, func(b *strings.Builder) {
		fmt.Fprintf(b, "exact, never publish this; counts up to %s\n", asOf.Format(time.RFC3339))
		if len(all) == 0 {
			fmt.Fprintln(b, "no user has an account")
		}
		for i := range all {
			writeSpentByAll(b, &all[i])
		}
	})
}

func writeSpentByAll(b *strings.Builder, s *pipeline.SpentByAll) {
	if s.From != nil {
		fmt.Fprintf(b, "period %s to %s\n", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	}
	rows := [][]string{{"of " + terminal.Count(s.Users, "user"), "have spent at most", "ε of that"}}
	for _, q := range s.Quantiles {
		rows = append(rows, []string{words.Percent(q.Users), words.Percent(q.Share) + " of the budget",
			words.Digits(q.Epsilon)})
	}
	b.WriteString(words.Table(rows...))
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
	switch {
	case s.Forgotten:
		line("forgotten", "the account was removed, so what it had spent is not known any more; no later value "+
			"counts this user")
	case len(s.Accounts) == 0:
		line("spent", "nothing: no released value counts a user with this id, or only values of periods that are over")
	}
	for _, a := range s.Accounts {
		if a.From != nil {
			line("period", "%s to %s", a.From.Format(time.RFC3339), a.To.Format(time.RFC3339))
		}
		line("spent", "%s of the budget: all values together are ε = %s at δ = %s", words.Percent(a.Share),
			words.Digits(a.Epsilon), words.Digits(s.Delta))
		if a.Earlier > 0 && len(a.Releases) > 0 {
			line("release", "older ones together: %s of the budget", words.Percent(a.Earlier))
		}
		for _, r := range a.Releases {
			line("release", "%s, %s to %s: %s of the budget", terminal.Key(r.Metric, 40),
				r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), words.Percent(r.Share))
		}
		for _, left := range a.Allowances {
			line("allowance", "%s: %s left", terminal.Key(left.Metric, 40), words.Percent(left.Left))
		}
	}
}
