package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/pipeline"
)

//go:embed statement.txt
var statementHelp string

func Statement(a *command.App) *cobra.Command {
	v, all := &view{App: a}, false
	cmd := a.New("statement USER", statementHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &v.path)
		cmd.Flags().BoolVar(&all, "all-trusted", false, "")
		cli.FormatFlag(cmd, &v.format)
	}, func(cmd *cobra.Command) error {
		o := config.Options{WithoutRegistries: true}
		if all {
			return show(cmd.Context(), v, o, pipeline.ReadSpentByAll, writeSpentByAll)
		}
		id, err := userID(cmd)
		if err != nil {
			return err
		}
		read := func(ctx context.Context, d *pipeline.Deployment) (*pipeline.Statement, error) {
			return pipeline.ReadStatement(ctx, d, id)
		}
		return show(cmd.Context(), v, o, read, writeStatement)
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case !all:
			return oneUser(nil, args)
		case len(args) > 0:
			return command.Usage(errors.New("give one user id or --all-trusted, not both"))
		}
		return nil
	}
	return cmd
}

func writeSpentByAll(b *strings.Builder, s *pipeline.SpentByAll) {
	fmt.Fprintf(b, "exact numbers, never publish them; counts up to %s\n", s.AsOf.Format(time.RFC3339))
	if len(s.Periods) == 0 {
		fmt.Fprintln(b, "no user has an account")
	}
	for _, p := range s.Periods {
		if p.From != nil {
			fmt.Fprintf(b, "period %s to %s\n", p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
		}
		rows := [][]string{{"of " + terminal.Count(p.Users, "user"), "have spent at most", "ε of that"}}
		for _, q := range p.Quantiles {
			rows = append(rows, []string{words.Percent(q.Users), words.Percent(q.Share) + " of the budget",
				words.Digits(q.Epsilon)})
		}
		b.WriteString(words.Table(rows...))
	}
}

// writeStatement writes a statement for people. It does not repeat the user's id.
func writeStatement(b *strings.Builder, s *pipeline.Statement) {
	line := command.Lines(b, 10)
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
