package commands

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
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
		Long: `Print the least standard deviation of Gaussian noise, of four digits, with which
--releases releases together are within --epsilon at --delta, and the epsilon that
they cost with it: what "budget compose" says of

  --mechanism gaussian:sigma=…:sensitivity=CONTRIBUTION:sampling=SAMPLING:count=RELEASES

by the tightest accountant that has an answer. Every accountant rounds up, so that all
of them fit. With a --contribution of 1 it is the noise multiplier.

Without --sampling the releases also fit a Gaussian filter of the budget one by one,
however they are chosen. With it, releases and sampling are fixed beforehand, and no
user's presence in a sample may be published. A deployment does not sample; its
accounts count in whole units, and "budget releases" has what they take.`,
		Example: `  tollgate budget calibrate --epsilon 1 --delta 1e-6 --releases 560
  tollgate budget calibrate --epsilon 1 --delta 1e-6 --releases 365 --contribution 20
  tollgate budget calibrate --epsilon 1 --delta 1e-5 --releases 10000 --sampling 0.01 --format json`,
		Args: noArguments("--releases"),
	}
	flags := cmd.Flags()
	flags.Float64Var(&budget.Epsilon, "epsilon", 1, "privacy loss ε of a user, above 0")
	flags.Float64Var(&budget.Delta, "delta", 1e-6, "failure probability δ, between 0 and 1")
	flags.IntVar(&r.Count, "releases", 0, "how many releases a user takes part in")
	flags.Float64Var(&r.Contribution, "contribution", 1, "what a user adds to a release at most, in the unit of the noise")
	flags.Float64Var(&r.Sampling, "sampling", 1, "probability with which a user is in the Poisson sample of a release; 1 is no sampling")
	cli.FormatFlag(cmd, &f)
	cmd.MarkFlagRequired("releases") //nolint:errcheck // the flag exists
	cmd.RunE = a.run(func(*cobra.Command) error {
		sigma, cost, err := compose.Calibrate(budget, r)
		if errors.Is(err, compose.ErrNotApplicable) {
			return usage(err)
		}
		if err != nil {
			return flagError(err)
		}
		return printFields(a.stdout, f, []field{
			{"sigma", sigma}, {"releases", r.Count}, {"contribution", r.Contribution}, {"sampling", r.Sampling},
			{"epsilon", budget.Epsilon}, {"delta", budget.Delta},
			{"composed_epsilon", cost.Loss.Epsilon}, {"accountant", cost.Accountant.Name()},
		})
	})
	return cmd
}
