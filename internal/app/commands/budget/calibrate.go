package budget

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/state/compose"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func (a *app) budgetCalibrate() *cobra.Command {
	var (
		budget loss.Approx
		r      compose.Releases
		f      cli.Format
	)
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Compute the noise with which so many releases fit a budget",
		Long: `Print the least standard deviation of Gaussian noise, with four digits, with which
--releases releases together are within --epsilon at --delta, and the epsilon that
they then cost. This epsilon is the answer of "budget compose" to

  --mechanism gaussian:sigma=…:sensitivity=CONTRIBUTION:sampling=SAMPLING:count=RELEASES

by the tightest accountant that has an answer. Every accountant rounds up, so that all
of them fit. With a --contribution of 1 the deviation is the noise multiplier.

Without --sampling, a Gaussian filter of the budget also accepts these releases one by
one, even if each is chosen by the results of earlier ones. With --sampling, releases
and sampling must be fixed beforehand, and no one may learn which users are in a
sample. A deployment does not sample, and its accounts count in whole units: use
"budget releases" for it.`,
		Example: `  tollgate budget calibrate --epsilon 1 --delta 1e-6 --releases 560
  tollgate budget calibrate --epsilon 1 --delta 1e-6 --releases 365 --contribution 20
  tollgate budget calibrate --epsilon 1 --delta 1e-5 --releases 10000 --sampling 0.01 --format json`,
		Args: command.NoArguments("--releases"),
	}
	flags := cmd.Flags()
	flags.Float64Var(&budget.Epsilon, "epsilon", 1, "privacy loss ε of a user, above 0")
	flags.Float64Var(&budget.Delta, "delta", 1e-6, "probability δ by which results may go beyond ε, between 0 and 1")
	flags.IntVar(&r.Count, "releases", 0, "how many releases a user takes part in")
	flags.Float64Var(&r.Contribution, "contribution", 1, "the most that a user adds to a release, in the unit of the "+
		"noise")
	flags.Float64Var(&r.Sampling, "sampling", 1, "probability with which a user is in the Poisson sample of a "+
		"release; 1 is no sampling")
	cli.FormatFlag(cmd, &f)
	cmd.MarkFlagRequired("releases") //nolint:errcheck // the flag exists
	cmd.RunE = a.Run(func(*cobra.Command) error {
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
	return cmd
}
