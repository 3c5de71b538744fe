package budgets

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
)

// Accountant names a way of turning (ε, δ) into B².
type Accountant string

// The accountants that can keep a deployment's budget.
//
// To add one, add a constant here, a row to curves, and a row to the table in state/compose, which
// also lists the accountants that only compose. Parsing, errors, the allowed values of a
// configuration and the help texts follow from them.
const (
	GDP  Accountant = "gdp"
	ZCDP Accountant = "zcdp"
)

// RDP is another name for ZCDP, kept for deployments that began with it: the Rényi filter with the
// best order, fixed in advance, has the same budget for Gaussian releases. ParseAccountant and
// Accountants leave it out; all other functions of this package accept it.
const RDP Accountant = "rdp"

// curve computes the δ of an accountant at μ² and ε, exactly enough for deltaUpper, which rounds it
// up.
type curve struct {
	accountant Accountant
	delta      func(mu2 *big.Float, epsilon float64) *big.Float
}

// curves lists every Accountant, in the order of error and help texts.
func curves() []curve {
	return []curve{
		{GDP, func(mu2 *big.Float, epsilon float64) *big.Float {
			return bigmath.GaussianDelta(mu2, bigmath.New(epsilon))
		}},
		{ZCDP, zcdpDelta},
	}
}

// curveOf returns the curve of an accountant; false for an unknown name.
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

// Accountants returns every accountant that a deployment can begin with, in the order of error and
// help texts.
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

// UnknownAccountantError is returned for a name that is not an Accountant.
type UnknownAccountantError struct{ Name string }

func (e *UnknownAccountantError) Error() string {
	if Accountant(e.Name) == RDP {
		return "accountant rdp is only for deployments that have begun with it: zcdp gives the same guarantee"
	}
	return fmt.Sprintf("accountant is %q, but must be one of %s", e.Name, strings.Join(AccountantNames(), ", "))
}

// ParseAccountant returns the Accountant with the given name, one of Accountants, or an
// *UnknownAccountantError.
func ParseAccountant(name string) (Accountant, error) {
	if a := Accountant(name); a != RDP && a.Known() {
		return a, nil
	}
	return "", &UnknownAccountantError{Name: name}
}

// Known reports whether the accountant can keep a budget: whether it is one of Accountants, or RDP.
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
