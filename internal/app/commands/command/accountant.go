package command

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
)

// Accountant is the value of --accountant where a deployment's budget is computed.
type Accountant budgets.Accountant

func AccountantFlag(flags *pflag.FlagSet, to *Accountant) {
	*to = Accountant(budgets.GDP)
	names := budgets.AccountantNames()
	for i, name := range names {
		if a, ok := compose.Named(name); ok && a.Note() != "" {
			names[i] += " (" + a.Note() + ")"
		}
	}
	flags.Var(to, "accountant", "how (epsilon, delta) becomes a budget: "+spelling.List(names, " or "))
}

func (v *Accountant) String() string { return string(*v) }

func (v *Accountant) Type() string { return strings.Join(budgets.AccountantNames(), "|") }

func (v *Accountant) Set(text string) error {
	parsed, err := budgets.ParseAccountant(text)
	if err != nil {
		if budgets.Accountant(text) == budgets.RDP {
			return err
		}
		return errors.New("it must be " + spelling.List(budgets.AccountantNames(), " or "))
	}
	*v = Accountant(parsed)
	return nil
}
