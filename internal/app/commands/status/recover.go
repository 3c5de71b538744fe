package status

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func Recover(c *command.App) *cobra.Command {
	a := &app{c}
	var path, by string
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Let a deployment that has stopped itself start again",
		Long: `Let a deployment that has stopped itself start again. A run writes a STOP to the
control topic if control log and ledger contradict each other, if a value would differ
from a published one, or if a budget is exceeded. Every later run then refuses to
start.

First find the cause and remove it (docs/runbook.md), then run this command. It
changes nothing else: if the cause is still there, the next run stops again.`,
		Example: `  tollgate recover --config tollgate.yaml --by "Ada, ticket 1234"`,
		Args:    command.NoArguments("--config"),
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &path)
	cmd.Flags().StringVar(&by, "by", "", "who has looked into the cause, and where it is written down; recorded on "+
		"the control topic")
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runRecover(cmd.Context(), path, by) })
	return cmd
}

func (a *app) runRecover(ctx context.Context, path, by string) error {
	if by == "" {
		return command.Usage(errors.New("give --by: the name of the person who has looked into the cause"))
	}
	d, err := a.Reach(ctx, path, config.Options{})
	if err != nil {
		return err
	}
	if err := pipeline.Recover(ctx, d.Deployment, by); err != nil {
		return d.Explained(err)
	}
	return a.Print(fmt.Sprintf("the next run may start\n\nnext: tollgate run --config %s\n", path))
}
