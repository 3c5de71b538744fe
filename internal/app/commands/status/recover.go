package status

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func Recover(a *command.App) *cobra.Command {
	var path, by string
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Let a deployment that has stopped itself start again",
		Long: `Let a deployment that has stopped itself start again. A run stops the deployment if
control log and ledger contradict each other, if a value would differ from a published
one, or if a budget is exceeded. First remove the cause (docs/runbook.md): if it is
still there, the next run stops again.`,
		Example: `  tollgate recover --config tollgate.yaml --by "Ada, ticket 1234"`,
		Args:    command.NoArguments("--config"),
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &path)
	cmd.Flags().StringVar(&by, "by", "", "who has found the cause; recorded on the control topic")
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		if by == "" {
			return command.Usage(errors.New("give --by: the name of the person who has found the cause"))
		}
		d, err := a.Reach(cmd.Context(), path, config.Options{})
		if err != nil {
			return err
		}
		if err := pipeline.Recover(cmd.Context(), d.Deployment, by); err != nil {
			return d.Explained(err)
		}
		return a.Print(fmt.Sprintf("the next run may start\n\nnext: tollgate run --config %s\n", path))
	})
	return cmd
}
