package loss

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state"
)

// Approx is (ε, δ)-differential privacy (Dwork et al., 2006): every event is at
// most e^ε times as likely, plus δ, with an individual as without, and the other
// way round. Delta 0 is pure ε-differential privacy.
type Approx struct {
	Epsilon float64 // at least 0, finite
	Delta   float64 // at least 0, below 1
}

// Validate returns a *state.RangeError that names epsilon or delta where it is
// out of its range.
func (a Approx) Validate() error {
	if err := atLeastZero("epsilon", a.Epsilon); err != nil {
		return err
	}
	return probability("delta", a.Delta)
}

// ZCDP is δ-approximate ρ-zero-concentrated differential privacy (Bun and
// Steinke, 2016, Definition 8.1): but for an event of probability δ on either
// side, the Rényi divergence of every order α > 1 is at most ρ·α. Delta 0 is
// plain ρ-zCDP.
type ZCDP struct {
	Rho   float64 // at least 0, finite
	Delta float64 // at least 0, below 1
}

// Validate returns a *state.RangeError that names rho or delta where it is out of
// its range.
func (z ZCDP) Validate() error {
	if err := atLeastZero("rho", z.Rho); err != nil {
		return err
	}
	return probability("delta", z.Delta)
}

// GDP is μ-Gaussian differential privacy (Dong, Roth and Su, 2022, Definition
// 2.6): telling the two inputs apart is at least as hard as telling N(0, 1) from
// N(μ, 1).
type GDP struct {
	Mu float64 // at least 0, finite
}

// Validate returns a *state.RangeError that names mu where it is out of its range.
func (g GDP) Validate() error { return atLeastZero("mu", g.Mu) }

// Order is one point of a Rényi curve: the Rényi divergence of order Alpha is at
// most Epsilon, in both directions.
type Order struct {
	Alpha   float64 // above 1, finite
	Epsilon float64 // at least 0; +Inf where nothing is known at this order
}

// RDP is Rényi differential privacy (Mironov, 2017, Definition 4) at one or many
// orders, by rising Alpha.
type RDP []Order

// Validate returns a *state.RangeError that names alpha or epsilon where it is
// out of its range, also where there is no order or the orders do not rise.
func (r RDP) Validate() error {
	if len(r) == 0 {
		return &state.RangeError{Parameter: "orders", Value: 0, Range: "at least one"}
	}
	last := 1.0
	for _, o := range r {
		if !(o.Alpha > last && o.Alpha <= math.MaxFloat64) {
			return &state.RangeError{Parameter: "alpha", Value: o.Alpha, Range: fmt.Sprintf("finite and above %v", last)}
		}
		if !(o.Epsilon >= 0) {
			return &state.RangeError{Parameter: "epsilon", Value: o.Epsilon, Range: "at least 0"}
		}
		last = o.Alpha
	}
	return nil
}

func atLeastZero(name string, v float64) error {
	if !(v >= 0 && v <= math.MaxFloat64) {
		return &state.RangeError{Parameter: name, Value: v, Range: "finite and at least 0"}
	}
	return nil
}

func probability(name string, v float64) error {
	if !(v >= 0 && v < 1) {
		return &state.RangeError{Parameter: name, Value: v, Range: "at least 0 and below 1"}
	}
	return nil
}
