package budgets

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
)

// Accountant is the name of a method for converting (ε, δ) into B².
type Accountant string

// The accountants that can keep a deployment's budget.
//
// To add an accountant, add a constant here, a row to curves, and a row to the table in
// state/compose, which also lists the accountants that only compose. Parsing, error messages, the
// permitted values of a configuration and the help texts use these tables.
const (
	GDP  Accountant = "gdp"
	ZCDP Accountant = "zcdp"
)

// RDP is another name for ZCDP, for deployments that were started with it: the Rényi filter with
// the best order, fixed in advance, has the same budget for Gaussian releases. ParseAccountant and
// Accountants exclude RDP; all other functions of this package accept it.
const RDP Accountant = "rdp"

// curve computes the δ of an accountant at μ² and ε, with an error that deltaUpper covers.
type curve struct {
	accountant Accountant
	delta      func(mu2 *big.Float, epsilon float64) *big.Float
}

// curves lists the curves of all accountants except RDP, in the order of messages and help texts.
func curves() []curve {
	return []curve{
		{GDP, func(mu2 *big.Float, epsilon float64) *big.Float {
			return bigmath.GaussianDelta(mu2, bigmath.New(epsilon))
		}},
		{ZCDP, zcdpDelta},
	}
}

// curveOf returns the curve of an accountant. The bool is false for an unknown name.
func curveOf(a Accountant) (curve, bool) {
	if a == RDP {
		a = ZCDP
	}
	for _, c := range curves() {
		if c.accountant == a {
			return c, true
		}
	}
	return curve{}, false
}

// Accountants returns all accountants with which a new deployment can be started, in the order of
// messages and help texts.
func Accountants() []Accountant {
	var all []Accountant
	for _, c := range curves() {
		all = append(all, c.accountant)
	}
	return all
}

// AccountantNames returns the names of Accountants, in the same order.
func AccountantNames() []string {
	var names []string
	for _, a := range Accountants() {
		names = append(names, string(a))
	}
	return names
}

// UnknownAccountantError is the error for a name that is not one of Accountants.
type UnknownAccountantError struct{ Name string }

func (e *UnknownAccountantError) Error() string {
	if Accountant(e.Name) == RDP {
		return "accountant rdp is only for deployments that were started with it; zcdp gives the same guarantee"
	}
	return fmt.Sprintf("accountant is %q, but must be one of %s", e.Name, strings.Join(AccountantNames(), ", "))
}

// ParseAccountant returns the Accountant with a name. The error is an *UnknownAccountantError
// unless it is one of Accountants.
func ParseAccountant(name string) (Accountant, error) {
	if a := Accountant(name); a != RDP && a.Known() {
		return a, nil
	}
	return "", &UnknownAccountantError{Name: name}
}

// Known reports whether the accountant is RDP or one of Accountants.
func (a Accountant) Known() bool {
	_, ok := curveOf(a)
	return ok
}

func (a Accountant) check() error {
	if !a.Known() {
		return &UnknownAccountantError{Name: string(a)}
	}
	return nil
}
