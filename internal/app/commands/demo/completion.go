package demo

import (
	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// completeMetrics completes the names of a configuration's metrics.
func (a *app) completeMetrics(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	path := cmd.Flag("config").Value.String()
	if path == "" {
		path = command.UsualConfig
	}
	d, err := a.Load(path, config.Options{WithoutKeys: true, WithoutRegistries: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for i := range d.Config.Metrics {
		all = append(all, d.Config.Metrics[i].Name)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
