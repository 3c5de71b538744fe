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

// Accountant is a way of composing mechanisms: a row of the table below. The zero
// value is not an accountant, and its Compose fails.
type Accountant struct {
	name    string
	note    string
	budget  budgets.Accountant
	compute func([]Mechanism, Question) (float64, error)
	// wins reports whether the result can be below pld's, whose pairs are exact apart from the
	// grid. If it is nil, the result never is.
	wins func([]Mechanism) bool
}

// accountants returns the table of all accountants, the tightest first if they apply to the same
// mechanisms. To add one, add a row here: its function takes a valid question about a valid list
// and returns a number, rounded up, or a NotApplicableError. An accountant that can also keep a
// deployment's budget (for budgets.NewBudget, the conversions and the releases before refusal) must
// first be a budgets.Accountant, with its curve in state/budgets. Then add a row to
// docs/accounting.md. Flags, help texts, errors, the allowed values of a configuration and its
// reference follow the two tables.
func accountants() []Accountant {
	always := func([]Mechanism) bool { return true }
	bounded := func(list []Mechanism) bool {
		return slices.ContainsFunc(list, func(m Mechanism) bool { return m.bounded > 0 })
	}
	fixed := func(list []Mechanism) bool {
		return !slices.ContainsFunc(list, func(m Mechanism) bool { return m.fixed == nil })
	}
	return []Accountant{
		{name: "gdp", budget: budgets.GDP, compute: byGDP, wins: bounded, note: "exact for Gaussian noise"},
		{name: "pld", compute: byPLD, wins: always},
		{name: "homogeneous", compute: byHomogeneous, wins: fixed},
		{name: "rdp", compute: byRDP, wins: bounded},
		{name: "zcdp", budget: budgets.ZCDP, compute: byZCDP, wins: bounded},
		{name: "advanced", compute: byAdvanced},
		{name: "basic", compute: byBasic, wins: fixed},
	}
}

// Names returns the names of all accountants, in the order of accountants.
func Names() []string {
	var names []string
	for _, a := range accountants() {
		names = append(names, a.name)
	}
	return names
}

// Named returns the accountant with the given name; false if there is none.
func Named(name string) (Accountant, bool) {
	for _, a := range accountants() {
		if a.name == name {
			return a, true
		}
	}
	return Accountant{}, false
}

// Best returns the least result among all accountants that apply to a list. It runs only gdp if the
// whole list is Gaussian noise without sampling, which gdp composes exactly, and skips accountants
// that are never below pld if pld applies. The dominating pair of a mechanism is as tight as the
// mechanism, except for bounded range, whose pair covers several worst pairs. others lists the
// accountants that do not apply, with the reasons. The error is a *NotApplicableError with every
// reason if no accountant applies, or a *units.RangeError as for Compose.
func Best(list []Mechanism, q Question) (best Verdict, others []Verdict, err error) {
	if !slices.ContainsFunc(list, func(m Mechanism) bool { return m.mu == 0 }) {
		gdp, _ := Named("gdp")
		if cost, err := gdp.Compose(list, q); err == nil {
			return Verdict{Accountant: gdp, Loss: cost}, nil, nil
		}
	}
	wins := func(a Accountant) bool { return a.wins != nil && a.wins(list) }
	never := func(a Accountant) bool { return !wins(a) }
	verdicts, err := ask(slices.DeleteFunc(accountants(), never), list, q)
	byPLD := func(v Verdict) bool { return v.Accountant.name == "pld" && v.NotApplicable == nil }
	if i := slices.IndexFunc(verdicts, byPLD); err == nil && (i < 0 || verdicts[i].Loss.Delta < leastOfGrid) {
		var more []Verdict
		more, err = ask(slices.DeleteFunc(accountants(), wins), list, q)
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

// Note returns a few words about when to choose the accountant, or "".
func (a Accountant) Note() string { return a.note }

// Budget returns the accountant of the same name for a deployment's budget (budgets.NewBudget, the
// conversions, budgets.ReleasesBeforeRefusal); false if there is none.
func (a Accountant) Budget() (budgets.Accountant, bool) { return a.budget, a.budget != "" }

// Compose returns an (ε, δ) of all mechanisms in the list together: one number is the question's,
// the other the result, rounded up.
//
// The error is a *NotApplicableError if the accountant cannot price a mechanism, if a Poisson
// sample and a mechanism for replaced individuals have no neighbouring inputs in common, or if the
// accountant shows no finite ε or no δ below 1. It is a *units.RangeError if the list is empty or
// has more than MaxCount mechanisms, or if a mechanism, the question or the accountant is a zero
// value.
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
	case errors.As(err, &out): // it concerns a sum: list and question have been checked
		return loss.Approx{}, notApplicable("the mechanisms together are out of its range: %v", out)
	case err != nil:
		return loss.Approx{}, err
	case q.forDelta && result >= 1:
		return loss.Approx{}, notApplicable("it shows no delta below 1 at this epsilon")
	case math.IsInf(result, 1) || math.IsNaN(result):
		return loss.Approx{}, notApplicable("it shows no finite epsilon at this delta")
	}
	return q.with(result), nil
}

// check rejects values that this package's functions did not make, and lists that are too long.
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
	return neighbours(list)
}

// neighbours rejects a list whose mechanisms share no pair of neighbouring inputs: a Poisson sample
// is priced for one individual added or removed, and the mechanisms of the second case for one
// replaced by another.
func neighbours(list []Mechanism) error {
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
			"neighbouring inputs are both", added, replaced)
	}
	return nil
}

// Verdict is one accountant's result for a list.
type Verdict struct {
	Accountant    Accountant
	Loss          loss.Approx         // set if NotApplicable is nil
	NotApplicable *NotApplicableError // reason why the accountant does not apply
}

// Compare runs every accountant. The tightest result is first; accountants that do not apply are
// last, in the order of Names. The error is a *units.RangeError as for Compose.
func Compare(list []Mechanism, q Question) ([]Verdict, error) {
	return ask(accountants(), list, q)
}

// ask is Compare for the given accountants, which it runs concurrently. The caller's goroutine runs
// pld: in a fresh goroutine its Fourier transforms were measured to take four times as much CPU
// time.
func ask(accountants []Accountant, list []Mechanism, q Question) ([]Verdict, error) {
	verdicts, errs := make([]Verdict, len(accountants)), make([]error, len(accountants))
	one := func(i int) {
		cost, err := accountants[i].Compose(list, q)
		verdicts[i] = Verdict{Accountant: accountants[i], Loss: cost}
		if !errors.As(err, &verdicts[i].NotApplicable) {
			errs[i] = err
		}
	}
	var others sync.WaitGroup
	here := slices.IndexFunc(accountants, func(a Accountant) bool { return a.name == "pld" })
	for i := range accountants {
		if i != here {
			others.Go(func() { one(i) })
		}
	}
	if here >= 0 {
		one(here)
	}
	others.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return ordered(verdicts), nil
}

// ordered sorts verdicts: the tightest first, those that do not apply last.
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
