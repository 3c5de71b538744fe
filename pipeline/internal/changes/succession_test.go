package changes

import (
	"reflect"
	"testing"
)

// The debts of the ledger follow the allowances of the last generation that settled a turn, even
// after two changes at one turn.
func TestAGenerationWithoutTurnsLeavesTheAllowancesOfTheOneBefore(t *testing.T) {
	first, second, third := headerWith(t, 1, 1e-6, 0, false), headerWith(t, .5, 1e-6, 0, false),
		headerWith(t, .25, 1e-6, 0, false)
	first.FromTurn = 1
	after := Succeed(first, second, 11, 0, nil)
	for from, want := range map[uint64]any{11: first.Allowances(), 12: second.Allowances()} {
		if next := Succeed(&after, third, from, 0, nil); !reflect.DeepEqual(any(next.Before), want) {
			t.Errorf("from turn %d on, debts are under %v, want %v", from, next.Before, want)
		}
	}
}
