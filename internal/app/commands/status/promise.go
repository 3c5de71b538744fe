package status

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

var (
	//go:embed promise.txt
	promiseHelp string
	//go:embed promise_output.txt
	promiseOutput string
)

func Promise(a *command.App) *cobra.Command {
	v := &view{App: a}
	return a.New("promise", promiseHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &v.path)
		cli.FormatFlag(cmd, &v.format)
	}, func(cmd *cobra.Command) error {
		return show(cmd.Context(), v, config.Options{WithoutKeys: true, WithoutRegistries: true}, pipeline.ReadPromise,
			promiseOutput)
	})
}
