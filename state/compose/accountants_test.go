package compose

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// An accountant that can keep a deployment's budget can also compose, under the same name.
func TestEveryAccountantOfABudgetIsInTheTable(t *testing.T) {
	var keep []budgets.Accountant
	for _, a := range accountants() {
		budget, ok := a.Budget()
		if !ok {
			if _, err := budgets.ParseAccountant(a.Name()); err == nil {
				t.Errorf("%s keeps budgets, and the table does not say so", a.Name())
			}
			continue
		}
		if string(budget) != a.Name() {
			t.Errorf("%s keeps budgets under the name %s", a.Name(), budget)
		}
		keep = append(keep, budget)
	}
	want := budgets.Accountants()
	slices.Sort(want)
	slices.Sort(keep)
	if !slices.Equal(want, keep) {
		t.Errorf("the table has budgets for %v, package budgets for %v", keep, want)
	}
}

// docs/accounting.md has a row for each accountant, in the order of the table, with whether it
// keeps budgets.
func TestDocumentationFollowsTheTable(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/accounting.md"))
	section := regexp.MustCompile(`(?s)\n\| accountant \|.*?\n\n`).Find(text)
	var got [][2]string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|.*\\| ([^|]+) \\|$").FindAllSubmatch(section, -1) {
		got = append(got, [2]string{string(row[1]), string(row[2])})
	}
	var want [][2]string
	for _, a := range accountants() {
		keeps := "no"
		if _, ok := a.Budget(); ok {
			keeps = "yes"
		}
		want = append(want, [2]string{a.Name(), keeps})
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/accounting.md has %v, the table %v", got, want)
	}
}
