package commands

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
)

func (a *app) budget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Compute what a privacy budget pays for, and what releases cost",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.budgetReleases(), a.budgetCalibrate(), a.budgetConvert(), a.budgetCompose(), a.budgetCompare())
	return cmd
}

// accountant is the value of --accountant where a deployment's budget is computed.
type accountant budgets.Accountant

func accountantFlag(cmd *cobra.Command, to *accountant) {
	*to = accountant(budgets.GDP)
	names := budgets.AccountantNames()
	for i, name := range names {
		if a, ok := compose.Named(name); ok && a.Note() != "" {
			names[i] += " (" + a.Note() + ")"
		}
	}
	cmd.Flags().Var(to, "accountant", "how (epsilon, delta) becomes a budget: "+spelling.List(names, " or "))
}

func (v *accountant) String() string { return string(*v) }
func (v *accountant) Type() string   { return strings.Join(budgets.AccountantNames(), "|") }

func (v *accountant) Set(text string) error {
	parsed, err := budgets.ParseAccountant(text)
	if err != nil {
		if budgets.Accountant(text) == budgets.RDP {
			return err
		}
		return errors.New("it must be " + spelling.List(budgets.AccountantNames(), " or "))
	}
	*v = accountant(parsed)
	return nil
}
