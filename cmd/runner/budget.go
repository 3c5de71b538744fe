package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/state"
)

func (a *app) budget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Reckon with privacy budgets",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.budgetReleases(), a.budgetConvert(), a.budgetCompose(), a.budgetCompare())
	return cmd
}

// accountant is the value of --accountant.
type accountant state.Accountant

func accountantFlag(cmd *cobra.Command, to *accountant) {
	*to = accountant(state.GDP)
	cmd.Flags().Var(to, "accountant", "how (epsilon, delta) becomes a budget: gdp (exact for Gaussian noise), zcdp or rdp")
}

func (v *accountant) String() string { return string(*v) }
func (v *accountant) Type() string   { return "gdp|zcdp|rdp" }

func (v *accountant) Set(text string) error {
	parsed, err := state.ParseAccountant(text)
	if err != nil {
		return errors.New("must be gdp, zcdp or rdp")
	}
	*v = accountant(parsed)
	return nil
}

// flagError names the flag behind a number that cannot be.
func flagError(err error) error {
	var out *state.RangeError
	if errors.As(err, &out) {
		return usage(fmt.Errorf("--%s is %v: it must be %s", out.Parameter, out.Value, out.Range))
	}
	return err
}
