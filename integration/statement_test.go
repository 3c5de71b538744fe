package integration

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// A statement has all accounts of its user, equal to the reference's, over periods and a change.
func TestRuleAStatementIsTheUsersAccount(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBroker(t), "statement", 3)
	w := shoppers(73)
	w.Users, w.Events = pick(w.Users, 4000), pick(w.Events, 600)
	arrivals := w.arrivals()
	d.load(scatter(arrivals, 3, 1))
	d.runTurns(6)
	d.verify()
	if checkStatements(t, d, arrivals, true) == 0 { // no slot of the ledger has been overwritten
		t.Error("nobody has spent anything")
	}
	d.change(manyChanges("statement"))
	d.run()
	d.verify()
	if checkStatements(t, d, arrivals, false) == 0 {
		t.Error("nobody has spent anything")
	}
	checkSpentByAll(t, d)
	other := *d.compiled
	other.Config.Keys.UserHash = secret.New([32]byte{1})
	if _, err := pipeline.ReadStatement(t.Context(), &other, []byte("nobody")); !errors.Is(err,
		pipeline.ErrHeaderMismatch) {
		t.Errorf("another user-hash key: %v", err)
	}
}

// checkStatements compares the statements of users with the reference, and returns the number of
// their accounts. whole means that the ledger still has all releases.
func checkStatements(t *testing.T, d *deployment, arrivals []arrival, whole bool) (spent int) {
	t.Helper()
	tr := must.Have(d.readTrusted())
	config, all := d.referenceConfig(), d.reference().accounts
	end := config.TurnEnds(tr.Last)[tr.Last-1]
	users := map[string]bool{"nobody": true}
	for _, a := range arrivals {
		users[a.user] = true
	}
	delete(users, "")
	if len(users) < pick(20, 1000) {
		t.Fatalf("%d users", len(users))
	}
	sample := slices.Sorted(maps.Keys(users))[:pick(20, 1000)]
	if whole {
		sample = sample[:20]
	}
	for _, user := range sample {
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
			units := float64(account.Spent)
			if !near(a.Share, units/float64(d.compiled.Budget.Mu2)) || !near(1/(a.Noise*a.Noise), units*0x1p-40) ||
				a.From.UnixMilli() != owner.Period*config.Period {
				t.Errorf("%s has spent %+v, want %v in period %d", user, a, account.Spent, owner.Period)
			}
			checkReleases(t, user, &a, d.reference().paid[owner], float64(d.compiled.Budget.Mu2), whole)
			for _, m := range config.Metrics {
				if m.Burst == 0 {
					continue
				}
				balance := float64(account.BucketAt(&m, config.Elapsed(owner, end)).Balance)
				index := slices.IndexFunc(a.Allowances, func(s pipeline.StatementAllowance) bool {
					return s.Metric == m.Name
				})
				if index < 0 || !near(a.Allowances[index].Left, balance/float64(m.Burst)) {
					t.Errorf("%s has %+v of metric %s, want %v of %d", user, a.Allowances, m.Name, balance, m.Burst)
				}
			}
		}
	}
	return spent
}

// paid is the charge for one window of a metric.
type paid struct {
	metric string
	end    int64 // the window's
	cost   int64
}

// checkReleases compares the releases of an account, the last ones at least, with its charges.
func checkReleases(t *testing.T, user string, a *pipeline.StatementAccount, charges []paid, budget float64,
	whole bool) {
	t.Helper()
	if len(a.Releases) > len(charges) || whole && len(a.Releases) < len(charges) {
		t.Fatalf("%s has %d releases of %d", user, len(a.Releases), len(charges))
	}
	earlier, events := 0.0, 0.0
	for i, p := range charges {
		cost := float64(p.cost)
		index := i - (len(charges) - len(a.Releases))
		if index < 0 {
			earlier += cost / budget
			continue
		}
		r := a.Releases[index]
		if r.Metric != p.metric || r.To.UnixMilli() != p.end || !r.From.Before(r.To) || !near(r.Share, cost/budget) {
			t.Errorf("%s paid %+v, want %s at %d for %v", user, r, p.metric, p.end, p.cost)
		}
	}
	for _, e := range a.Events {
		events += 1 / (e.Gaussian.Noise * e.Gaussian.Noise)
	}
	if !near(a.Earlier, earlier) || !near(events, 1/(a.Noise*a.Noise)) {
		t.Errorf("%s: earlier %v, want %v; events of μ² = %v, want %v", user, a.Earlier, earlier, events,
			1/(a.Noise*a.Noise))
	}
}

// checkSpentByAll compares the quantiles over all accounts with the reference.
func checkSpentByAll(t *testing.T, d *deployment) {
	t.Helper()
	got := must.Have(pipeline.ReadSpentByAll(t.Context(), d.compiled))
	config, shares := d.referenceConfig(), map[int64][]float64{}
	for owner, account := range d.reference().accounts {
		if !config.PeriodIsOver(owner.Period, got.AsOf.UnixMilli()) {
			units := float64(account.Spent)
			shares[owner.Period*config.Period] = append(shares[owner.Period*config.Period],
				units/float64(d.compiled.Budget.Mu2))
		}
	}
	if len(got.Periods) != len(shares) || len(shares) == 0 {
		t.Fatalf("%d periods, want %d", len(got.Periods), len(shares))
	}
	for _, p := range got.Periods {
		want := slices.Sorted(slices.Values(shares[p.From.UnixMilli()]))
		if p.Users != len(want) {
			t.Fatalf("%d users, want %d", p.Users, len(want))
		}
		for _, q := range p.Quantiles {
			exact := want[max(1, int(math.Ceil(q.Users*float64(len(want)))))-1]
			if !near(q.Share, exact) {
				t.Errorf("the share of %v of the users is %v, want %v", q.Users, q.Share, exact)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
