package integration

import (
	"errors"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// A statement has every account of the user as the reference has it, over periods and a change.
func TestRuleAStatementIsTheUsersAccount(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBroker(t), "statement", 3)
	arrivals := shoppers(73).arrivals()
	d.load(scatter(arrivals, 3, 1))
	d.runTurns(6)
	d.change(manyChanges("statement"))
	d.run()
	d.verify()
	tr := must.Have(d.readTrusted())
	config, all := d.referenceConfig(), d.reference().Accounts
	end := config.TurnEnds(tr.last)[tr.last-1]
	users := map[string]bool{"nobody": true}
	for _, a := range arrivals {
		users[a.user] = true
	}
	spent := 0
	for _, user := range slices.Sorted(maps.Keys(users))[:pick(20, len(users))] {
		got := must.Have(pipeline.ReadStatement(t.Context(), d.compiled, []byte(user)))
		var want []reference.Owner
		for owner := range all {
			if owner.ID == d.owner(user, 0).ID && !config.PeriodIsOver(owner.Period, end) {
				want = append(want, owner)
			}
		}
		slices.SortFunc(want, func(a, b reference.Owner) int { return int(a.Period - b.Period) })
		if len(got.Accounts) != len(want) {
			t.Fatalf("%s has %d accounts, want %d", user, len(got.Accounts), len(want))
		}
		for i, owner := range want {
			spent++
			a, account := got.Accounts[i], all[owner]
			units, _ := new(big.Float).SetInt(account.Spent).Float64()
			if !near(a.Share, units/float64(d.compiled.Budget.Mu2)) || !near(1/(a.Noise*a.Noise), units*0x1p-40) ||
				a.From.UnixMilli() != owner.Period*config.Period {
				t.Errorf("%s has spent %+v, want %v in period %d", user, a, account.Spent, owner.Period)
			}
			for _, m := range config.Metrics {
				if m.Burst == 0 {
					continue
				}
				balance, _ := new(big.Float).SetInt(account.BucketAt(m, config.Elapsed(owner, end)).Balance).Float64()
				of := slices.IndexFunc(a.Allowances, func(s pipeline.StatementAllowance) bool {
					return s.Metric == m.Name
				})
				if of < 0 || !near(a.Allowances[of].Left, balance/float64(m.Burst)) {
					t.Errorf("%s has %+v of metric %s, want %v of %d", user, a.Allowances, m.Name, balance, m.Burst)
				}
			}
		}
	}
	if spent == 0 {
		t.Error("nobody has spent anything")
	}
	other := *d.compiled
	other.Config.Keys.UserHash = secret.New([32]byte{1})
	if _, err := pipeline.ReadStatement(t.Context(), &other, []byte("nobody")); !errors.Is(err,
		pipeline.ErrHeaderMismatch) {
		t.Errorf("another user-hash key: %v", err)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
