// Package budget implements the commands that compute what a privacy budget pays for.
package budget

import (
	_ "embed"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
	"github.com/tollgate-dp/tollgate/state/loss"
)

var (
	//go:embed releases.txt
	releasesHelp string
	//go:embed calibrate.txt
	calibrateHelp string
	//go:embed convert.txt
	convertHelp string
)

// app gives the commands of this package access to the process around them.
type app struct{ *command.App }

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	return cli.Parent(&cobra.Command{
		Use:   "budget",
		Short: "Compute what a privacy budget pays for, and what releases cost",
	}, a.releases(), a.calibrate(), a.convert(), a.compose(), a.compare())
}

func (a *app) releases() *cobra.Command {
	var (
		epsilon, delta, sigma float64
		contribution          uint64
		accountant            string
		f                     cli.Format
	)
	return a.New("releases", releasesHelp, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		flags.Float64Var(&sigma, "sigma", 0, "")
		flags.Float64Var(&epsilon, "epsilon", 1, "")
		flags.Float64Var(&delta, "delta", 1e-6, "")
		command.AccountantFlag(flags, &accountant)
		flags.Uint64Var(&contribution, "contribution", 1, "")
		cli.FormatFlag(cmd, &f)
		cmd.MarkFlagRequired("sigma") //nolint:errcheck // the flag exists
	}, func(*cobra.Command) error {
		budget, err := budgets.NewBudget(epsilon, delta, budgets.Accountant(accountant), 0)
		if err != nil {
			return command.FlagError(err)
		}
		n, err := budgets.ReleasesBeforeRefusal(budget, sigma, contribution)
		if err != nil {
			return command.FlagError(err)
		}
		return a.PrintFields(f, []any{
			"releases", n, "epsilon", epsilon, "delta", delta, "accountant", accountant,
			"sigma", sigma, "contribution", contribution,
		})
	})
}

func (a *app) calibrate() *cobra.Command {
	var (
		budget loss.Approx
		r      compose.Releases
		f      cli.Format
	)
	return a.New("calibrate", calibrateHelp, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		flags.IntVar(&r.Count, "releases", 0, "")
		flags.Float64Var(&budget.Epsilon, "epsilon", 1, "")
		flags.Float64Var(&budget.Delta, "delta", 1e-6, "")
		flags.Float64Var(&r.Contribution, "contribution", 1, "")
		flags.Float64Var(&r.Sampling, "sampling", 1, "")
		cli.FormatFlag(cmd, &f)
		cmd.MarkFlagRequired("releases") //nolint:errcheck // the flag exists
	}, func(*cobra.Command) error {
		sigma, cost, err := compose.Calibrate(budget, r)
		if errors.Is(err, compose.ErrNotApplicable) {
			return command.Usage(err)
		}
		if err != nil {
			return command.FlagError(err)
		}
		return a.PrintFields(f, []any{
			"sigma", sigma, "releases", r.Count, "contribution", r.Contribution, "sampling", r.Sampling,
			"epsilon", budget.Epsilon, "delta", budget.Delta,
			"composed_epsilon", cost.Loss.Epsilon, "accountant", cost.Accountant.Name(),
		})
	})
}

func (a *app) convert() *cobra.Command {
	var (
		epsilon, delta, mu, rho float64
		accountant              string
		f                       cli.Format
	)
	return a.New("convert", convertHelp, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		flags.Float64Var(&epsilon, "epsilon", 0, "")
		flags.Float64Var(&delta, "delta", 0, "")
		flags.Float64Var(&mu, "mu", 0, "")
		flags.Float64Var(&rho, "rho", 0, "")
		command.AccountantFlag(flags, &accountant)
		cli.FormatFlag(cmd, &f)
	}, func(cmd *cobra.Command) error {
		given := ""
		for _, name := range []string{"epsilon", "delta", "mu", "rho"} {
			if cmd.Flags().Changed(name) {
				given += name + " "
			}
		}
		c, err := convert(given, epsilon, delta, mu, rho, budgets.Accountant(accountant))
		if err != nil {
			return command.FlagError(err)
		}
		return a.PrintFields(f, []any{
			"epsilon", c.Epsilon, "delta", c.Delta, "mu", c.Mu, "rho", c.Rho, "accountant", string(c.Accountant),
		})
	})
}

// convert computes the third of ε, δ and μ (or ρ). given names the other two, a space after each.
func convert(given string, epsilon, delta, mu, rho float64, accountant budgets.Accountant) (budgets.Conversion, error) {
	switch given {
	case "epsilon delta ":
		return budgets.ConvertEpsilonDelta(epsilon, delta, accountant)
	case "epsilon mu ":
		return budgets.ConvertEpsilonMu(epsilon, mu, accountant)
	case "epsilon rho ":
		return budgets.ConvertEpsilonRho(epsilon, rho, accountant)
	case "delta mu ":
		return budgets.ConvertDeltaMu(delta, mu, accountant)
	case "delta rho ":
		return budgets.ConvertDeltaRho(delta, rho, accountant)
	}
	return budgets.Conversion{}, command.Usage(errors.New("give exactly two of --epsilon, --delta and --mu (or --rho " +
		"instead)"))
}
