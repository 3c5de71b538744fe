// Package budget has the commands that compute what a privacy budget pays for.
package budget

import (
	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// app gives the commands of this package access to the outside world.
type app struct{ *command.App }

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Compute what a privacy budget pays for, and what releases cost",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.budgetReleases(), a.budgetCalibrate(), a.budgetConvert(), a.budgetCompose(), a.budgetCompare())
	return cmd
}
