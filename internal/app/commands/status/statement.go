package status

import (
	"context"
	_ "embed"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

var (
	//go:embed statement.txt
	statementHelp string
	//go:embed statement_output.txt
	statementOutput string
	//go:embed spent_output.txt
	spentOutput string
)

func Statement(a *command.App) *cobra.Command {
	v, all := &view{App: a}, false
	cmd := a.New("statement USER", statementHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &v.path)
		cmd.Flags().BoolVar(&all, "all-trusted", false, "")
		cli.FormatFlag(cmd, &v.format)
	}, func(cmd *cobra.Command) error {
		o := config.Options{WithoutRegistries: true}
		if all {
			return show(cmd.Context(), v, o, pipeline.ReadSpentByAll, spentOutput)
		}
		id, err := userID(cmd)
		if err != nil {
			return err
		}
		read := func(ctx context.Context, d *pipeline.Deployment) (*pipeline.Statement, error) {
			return pipeline.ReadStatement(ctx, d, id)
		}
		return show(cmd.Context(), v, o, read, statementOutput)
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
