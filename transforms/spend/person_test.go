package spend

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// TestDailyUsersCountToTheEnd: one event a day for 20 days, in a promise that lasts as long.
func TestDailyUsersCountToTheEnd(t *testing.T) {
	const days = 20
	b := must.Have(budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7))
	a := accounts.NewAllowance(b.Mu2, 0.5, days)
	m := schemas.MetricSpec{Name: "m", Kind: "events", KeyMode: schemas.KeysPrivate, Burst: a.Burst, Refill: a.Refill,
		Horizon: a.Horizon}
	m.Top = must.Have(units.PrecisionFromSigma(100 / 1.96))
	p := must.Have(NewPerson(b, [32]byte{1}, []schemas.MetricSpec{m}))
	for id := range 4000 {
		p.Begin(accounts.Entry{ID: testID(id)}, [][]byte{fmt.Append(nil, "key ", id)})
		for day := range int64(days) {
			parts, err := p.Window(0, day+1, []schemas.KeyCount{{N: 1}}, nil)
			if err != nil || len(parts) != 1 || parts[0].Total != 1 {
				t.Fatalf("user %d, day %d: %v counts (%v)", id, day, parts, err)
			}
		}
	}
}
