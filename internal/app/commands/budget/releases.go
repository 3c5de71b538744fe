package budget

import (
	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func (a *app) budgetReleases() *cobra.Command {
	var (
		epsilon, delta, sigma float64
		contribution          uint64
		by                    command.Accountant
		f                     cli.Format
	)
	cmd := &cobra.Command{
		Use:   "releases",
		Short: "Compute how many releases a user can take part in",
		Long: `Print how many releases with noise of standard deviation --sigma a user can take
part in, with --contribution events in each, before the budget is spent. Exactly:
⌊B² / ⌈C²·u(σ)⌉⌋ in the integers of the accounts, where B² is the budget, C the
contribution and u(σ) the precision of the noise.`,
		Example: "  tollgate budget releases --epsilon 1 --delta 1e-6 --accountant gdp --sigma 100 --contribution 1",
		Args:    command.NoArguments("--sigma"),
	}
	flags := cmd.Flags()
	flags.Float64Var(&epsilon, "epsilon", 1, "privacy loss ε of a user, above 0")
	flags.Float64Var(&delta, "delta", 1e-6, "probability δ by which results may go beyond ε, between 0 and 1")
	command.AccountantFlag(cmd, &by)
	flags.Float64Var(&sigma, "sigma", 0, "standard deviation of each release, in events")
	flags.Uint64Var(&contribution, "contribution", 1, "events of the user in each release")
	cli.FormatFlag(cmd, &f)
	cmd.MarkFlagRequired("sigma") //nolint:errcheck // the flag exists
	cmd.RunE = a.Run(func(*cobra.Command) error {
		budget, err := budgets.NewBudget(epsilon, delta, budgets.Accountant(by), 0)
		if err != nil {
			return command.FlagError(err)
		}
		n, err := budgets.ReleasesBeforeRefusal(budget, sigma, contribution)
		if err != nil {
			return command.FlagError(err)
		}
		return a.PrintFields(f, []any{
			"releases", n, "epsilon", epsilon, "delta", delta, "accountant", string(by),
			"sigma", sigma, "contribution", contribution,
		})
	})
	return cmd
}
