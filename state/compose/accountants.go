package compose

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Accountant is a method for composing mechanisms. The zero value is invalid: its Compose fails.
type Accountant struct {
	name    string
	note    string
	budget  budgets.Accountant
	compute func([]Mechanism, Question) (float64, error)
	// canWin reports whether the result for a list can be below that of pld, whose pairs are exact
	// apart from the grid. If canWin is nil, the result is never below that of pld.
	canWin func([]Mechanism) bool
}

// accountants returns the table of all accountants. For mechanisms to which several accountants
// apply, the tightest of them is first. To add an accountant, add a row here and to
// docs/accounting.md. Its function compute receives a valid question about a valid list and returns
// a number, rounded up, or a NotApplicableError. An accountant for deployments' budgets (for
// budgets.NewBudget, the conversions and budgets.ReleasesBeforeRefusal) must also be a
// budgets.Accountant, with a curve in state/budgets. Flags, help texts, error messages, the
// permitted values of a configuration and its reference use the tables.
func accountants() []Accountant {
	always := func([]Mechanism) bool { return true }
	bounded := func(list []Mechanism) bool {
		return slices.ContainsFunc(list, func(m Mechanism) bool { return m.bounded > 0 })
	}
	fixed := func(list []Mechanism) bool {
		return !slices.ContainsFunc(list, func(m Mechanism) bool { return m.fixed == nil })
	}
	return []Accountant{
		{name: "gdp", budget: budgets.GDP, compute: byGDP, canWin: bounded, note: "exact for Gaussian noise"},
		{name: "pld", compute: byPLD, canWin: always},
		{name: "homogeneous", compute: byHomogeneous, canWin: fixed},
		{name: "rdp", compute: byRDP, canWin: bounded},
		{name: "zcdp", budget: budgets.ZCDP, compute: byZCDP, canWin: bounded},
		{name: "advanced", compute: byAdvanced},
		{name: "basic", compute: byBasic, canWin: fixed},
	}
}

// Names returns the names of all accountants, in the order of the table.
func Names() []string {
	var names []string
	for _, a := range accountants() {
		names = append(names, a.name)
	}
	return names
}

// Named returns the accountant with a name. The bool is false if there is none.
func Named(name string) (Accountant, bool) {
	for _, a := range accountants() {
		if a.name == name {
			return a, true
		}
	}
	return Accountant{}, false
}

// Best returns the least result of all accountants that apply to a list. If the entire list is
// Gaussian noise without sampling, it runs only gdp, which is exact for such lists. If pld applies,
// it skips accountants whose result is never below that of pld. (A dominating pair is as tight as
// its mechanism, except that the pair for bounded range covers several worst pairs.) others lists
// the accountants that do not apply, with the reasons. If no accountant applies, the error is a
// *NotApplicableError with all reasons. Other errors are *units.RangeError, as for Compose.
func Best(list []Mechanism, q Question) (best Verdict, others []Verdict, err error) {
	if !slices.ContainsFunc(list, func(m Mechanism) bool { return m.mu == 0 }) {
		gdp, _ := Named("gdp")
		if cost, err := gdp.Compose(list, q); err == nil {
			return Verdict{Accountant: gdp, Loss: cost}, nil, nil
		}
	}
	wins := func(a Accountant) bool { return a.canWin != nil && a.canWin(list) }
	never := func(a Accountant) bool { return !wins(a) }
	verdicts, err := runAll(slices.DeleteFunc(accountants(), never), list, q)
	byPLD := func(v Verdict) bool { return v.Accountant.name == "pld" && v.NotApplicable == nil }
	if i := slices.IndexFunc(verdicts, byPLD); err == nil && (i < 0 || verdicts[i].Loss.Delta < minGridDelta) {
		var more []Verdict
		more, err = runAll(slices.DeleteFunc(accountants(), wins), list, q)
		verdicts = ordered(append(verdicts, more...))
	}
	if err != nil {
		return Verdict{}, nil, err
	}
	var reasons []string
	for i, v := range verdicts {
		if v.NotApplicable != nil {
			others = append(others, v)
			reasons = append(reasons, v.Accountant.Name()+": "+v.NotApplicable.Reason)
		} else if i == 0 {
			best = v
		}
	}
	if len(others) == len(verdicts) {
		err = notApplicable("no accountant applies: %s", strings.Join(reasons, "; "))
	}
	return best, others, err
}

// Name returns the accountant's name in flags and configurations.
func (a Accountant) Name() string { return a.name }

// Note returns a short hint about when to choose the accountant, or "".
func (a Accountant) Note() string { return a.note }

// Budget returns the corresponding accountant for deployments' budgets (budgets.NewBudget, the
// conversions, budgets.ReleasesBeforeRefusal). The bool is false if there is none.
func (a Accountant) Budget() (budgets.Accountant, bool) { return a.budget, a.budget != "" }

// Compose returns an (ε, δ) for all mechanisms in the list together. One of the two numbers is
// given by the question. The other is the result, rounded up.
//
// The error is a *NotApplicableError if the accountant cannot price a mechanism, if the mechanisms
// have no neighbouring inputs in common (a Poisson sample and a mechanism for replaced individuals
// do not), or if the accountant gives no finite ε or no δ below 1. It is a *units.RangeError if the
// list is empty or has more than MaxCount mechanisms, or if a mechanism, the question or the
// accountant is a zero value.
func (a Accountant) Compose(list []Mechanism, q Question) (loss.Approx, error) {
	if a.compute == nil {
		return loss.Approx{}, &units.RangeError{Parameter: "accountant", Value: 0, Range: "one of Accountants"}
	}
	if err := check(list, q); err != nil {
		return loss.Approx{}, err
	}
	result, err := a.compute(list, q)
	var out *units.RangeError
	switch {
	case errors.As(err, &out): // a sum is out of range, since list and question have been checked
		return loss.Approx{}, notApplicable("the mechanisms together are out of its range: %v", out)
	case err != nil:
		return loss.Approx{}, err
	case q.forDelta && result >= 1:
		return loss.Approx{}, notApplicable("it gives no delta below 1 at this epsilon")
	case math.IsInf(result, 1) || math.IsNaN(result):
		return loss.Approx{}, notApplicable("it gives no finite epsilon at this delta")
	}
	return q.with(result), nil
}

// check returns an error for zero values, for lists that are empty or too long, and for mechanisms
// without common neighbours.
func check(list []Mechanism, q Question) error {
	if err := q.validate(); err != nil {
		return err
	}
	if len(list) == 0 {
		return &units.RangeError{Parameter: "mechanisms", Value: 0, Range: "at least one"}
	}
	total := 0
	for _, m := range list {
		if m.count == 0 {
			return countError(0)
		}
		if total += m.count; total > MaxCount {
			return countError(float64(total))
		}
	}
	return checkNeighbours(list)
}

// checkNeighbours returns an error for a list whose mechanisms have no pair of neighbouring inputs
// in common. On a Poisson sample, neighbours differ by adding or removing an individual. For the
// mechanisms of the second case, they differ by replacing an individual.
func checkNeighbours(list []Mechanism) error {
	added, replaced := "", ""
	for _, m := range list {
		switch m.pair.(type) {
		case pld.SubsampledGaussian, pld.Sampled:
			added = m.name
		case pld.WithoutReplacement, pld.RandomizedResponse:
			replaced = m.name
		}
	}
	if added != "" && replaced != "" {
		return notApplicable("%s on a Poisson sample is for one individual added or removed, %s for one replaced: no "+
			"two inputs are neighbours in both senses", added, replaced)
	}
	return nil
}

// Verdict is one accountant's result for a list.
type Verdict struct {
	Accountant    Accountant
	Loss          loss.Approx         // valid if NotApplicable is nil
	NotApplicable *NotApplicableError // reason why the accountant does not apply
}

// Compare returns the results of all accountants, beginning with the tightest. Accountants that do
// not apply are last, in the order of Names. The error is a *units.RangeError as for Compose.
func Compare(list []Mechanism, q Question) ([]Verdict, error) { return runAll(accountants(), list, q) }

// runAll does the same as Compare for the given accountants, which it runs concurrently. It runs
// pld in the caller's goroutine: in a new goroutine, its Fourier transforms were measured to take
// four times as much CPU time.
func runAll(accountants []Accountant, list []Mechanism, q Question) ([]Verdict, error) {
	verdicts, errs := make([]Verdict, len(accountants)), make([]error, len(accountants))
	run := func(i int) {
		cost, err := accountants[i].Compose(list, q)
		verdicts[i] = Verdict{Accountant: accountants[i], Loss: cost}
		if !errors.As(err, &verdicts[i].NotApplicable) {
			errs[i] = err
		}
	}
	var others sync.WaitGroup
	pldIndex := slices.IndexFunc(accountants, func(a Accountant) bool { return a.name == "pld" })
	for i := range accountants {
		if i != pldIndex {
			others.Go(func() { run(i) })
		}
	}
	if pldIndex >= 0 {
		run(pldIndex)
	}
	others.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return ordered(verdicts), nil
}

// ordered sorts verdicts in place and returns them: the tightest first, not applicable ones last.
func ordered(verdicts []Verdict) []Verdict {
	slices.SortStableFunc(verdicts, func(x, y Verdict) int {
		switch {
		case x.NotApplicable == nil && y.NotApplicable == nil:
			return cmp.Or(cmp.Compare(x.Loss.Epsilon, y.Loss.Epsilon), cmp.Compare(x.Loss.Delta, y.Loss.Delta))
		case x.NotApplicable == nil:
			return -1
		case y.NotApplicable == nil:
			return 1
		}
		return 0
	})
	return verdicts
}
