package budget

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func (a *app) budgetConvert() *cobra.Command {
	var (
		epsilon, delta, mu, rho float64
		by                      command.Accountant
		f                       cli.Format
	)
	cmd := &cobra.Command{
		Use:   "convert",
		Short: "Convert between (epsilon, delta) and mu or rho",
		Long: `Give any two of --epsilon, --delta and --mu (or --rho instead) and print the
third. mu is the parameter of Gaussian differential privacy and rho = mu²/2 that
of zero-concentrated differential privacy. Results are rounded so that the
statement stays true: epsilon and delta up, mu and rho down.`,
		Example: `  tollgate budget convert --epsilon 1 --delta 1e-6
  tollgate budget convert --epsilon 1 --mu 0.2367
  tollgate budget convert --delta 1e-6 --rho 0.028 --accountant zcdp`,
		Args: command.NoArguments("--epsilon"),
	}
	flags := cmd.Flags()
	flags.Float64Var(&epsilon, "epsilon", 0, "privacy loss ε, above 0")
	flags.Float64Var(&delta, "delta", 0, "probability δ by which results may go beyond ε, between 0 and 1")
	flags.Float64Var(&mu, "mu", 0, "Gaussian parameter μ, above 0")
	flags.Float64Var(&rho, "rho", 0, "concentrated parameter ρ, above 0, instead of --mu")
	command.AccountantFlag(cmd, &by)
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		given := ""
		for _, name := range []string{"epsilon", "delta", "mu", "rho"} {
			if flags.Changed(name) {
				given += name + " "
			}
		}
		c, err := convert(given, epsilon, delta, mu, rho, budgets.Accountant(by))
		if err != nil {
			return command.FlagError(err)
		}
		return a.PrintFields(f, []any{
			"epsilon", c.Epsilon, "delta", c.Delta, "mu", c.Mu, "rho", c.Rho, "accountant", string(c.Accountant),
		})
	})
	return cmd
}

// convert computes the third of three numbers from the two that were given.
func convert(given string, epsilon, delta, mu, rho float64, by budgets.Accountant) (budgets.Conversion, error) {
	switch given {
	case "epsilon delta ":
		return budgets.ConvertEpsilonDelta(epsilon, delta, by)
	case "epsilon mu ":
		return budgets.ConvertEpsilonMu(epsilon, mu, by)
	case "epsilon rho ":
		return budgets.ConvertEpsilonRho(epsilon, rho, by)
	case "delta mu ":
		return budgets.ConvertDeltaMu(delta, mu, by)
	case "delta rho ":
		return budgets.ConvertDeltaRho(delta, rho, by)
	}
	return budgets.Conversion{}, command.Usage(errors.New("give exactly two of --epsilon, --delta and --mu (or --rho " +
		"instead)"))
}
