package status

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

//go:embed recover.txt
var recoverHelp string

func Recover(a *command.App) *cobra.Command {
	var path, by string
	return a.New("recover", recoverHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &path)
		cmd.Flags().StringVar(&by, "by", "", "")
	}, func(cmd *cobra.Command) error {
		if by == "" {
			return command.Usage(errors.New("give --by: the name of the person who found the cause"))
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
}
