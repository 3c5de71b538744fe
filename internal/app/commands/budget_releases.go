package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
)

func (a *app) budgetReleases() *cobra.Command {
	var (
		epsilon, delta, sigma float64
		contribution          uint64
		by                    accountant
		f                     cli.Format
		print                 bool
	)
	cmd := &cobra.Command{
		Use:   "releases",
		Short: "Compute how many releases a user can take part in",
		Long: `Print how many releases with noise of standard deviation --sigma a user can take
part in, with --contribution events in each, before the budget is spent. Exactly:
⌊B² / ⌈C²·u(σ)⌉⌋ in the integers of the accounts, where B² is the budget, C the
contribution and u(σ) the precision of the noise. --print-dp-events prints these
releases as an event of dp_accounting, which can compute an epsilon of its own.`,
		Example: "  tollgate budget releases --epsilon 1 --delta 1e-6 --accountant gdp --sigma 100 --contribution 1",
		Args:    noArguments("--sigma"),
	}
	flags := cmd.Flags()
	flags.Float64Var(&epsilon, "epsilon", 1, "privacy loss ε of a user, above 0")
	flags.Float64Var(&delta, "delta", 1e-6, "failure probability δ, between 0 and 1")
	accountantFlag(cmd, &by)
	flags.Float64Var(&sigma, "sigma", 0, "standard deviation of each release, in events")
	flags.Uint64Var(&contribution, "contribution", 1, "events of the user in each release")
	cli.FormatFlag(cmd, &f)
	printEventsFlag(cmd, &print)
	cmd.MarkFlagRequired("sigma") //nolint:errcheck // the flag exists
	cmd.RunE = a.run(func(*cobra.Command) error {
		budget, err := budgets.NewBudget(epsilon, delta, budgets.Accountant(by), 0)
		if err != nil {
			return flagError(err)
		}
		n, err := budgets.ReleasesBeforeRefusal(budget, sigma, contribution)
		if err != nil {
			return flagError(err)
		}
		if print {
			return a.printReleases(sigma, contribution, n)
		}
		return a.printFields(f, []field{
			{"releases", n}, {"epsilon", epsilon}, {"delta", delta}, {"accountant", string(by)},
			{"sigma", sigma}, {"contribution", contribution},
		})
	})
	return cmd
}

// printReleases prints n releases with Gaussian noise as an event of dp_accounting.
func (a *app) printReleases(sigma float64, contribution, n uint64) error {
	if n < 1 || n > compose.MaxCount {
		return usage(fmt.Errorf("--print-dp-events: the budget has %d releases, and 1 to %d can be printed", n, compose.MaxCount))
	}
	one, err := compose.Gaussian(sigma, rounding.IntegerUp(contribution))
	if err != nil {
		return flagError(err)
	}
	all, err := one.Times(int(n))
	if err != nil {
		return flagError(err)
	}
	return compose.EncodeEvents(a.stdout, []compose.Mechanism{all})
}
