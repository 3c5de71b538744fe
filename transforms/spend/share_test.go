package spend

import (
	"testing"
)

// shared has a metric whose events cost 4 units for each squared, with a bucket of 16 units that is
// full again in the next turn, and its share at 1 unit, of 4 events at most. The budget is 50.
func shared() settings {
	m := publicMetric("m", "a", "b")
	m.MaxKeysPerUser = 1
	m.Burst, m.Refill, m.Horizon = 16, 160, 10*testTurn
	share := shareOf(&m, 4)
	share.First, share.Top, share.Burst = unit(1), unit(1), 0
	return deployment(50, m, share)
}

// Decisions about a share are the same after a restore from the ledger: the ledger keeps the events
// that its metric leaves out, even for users whom the metric refuses.
func TestRuleARestoredShareReservesWhatWasReserved(t *testing.T) {
	s := shared()
	a := mustAccounts(t, s, []contribution{
		{user: 0, key: "a", n: 2},
		{user: 1, key: "a", n: 3},                            // one beyond the bucket of the metric
		{user: 2, key: "a", n: 1}, {user: 2, key: "b", n: 1}, // one key of two
	})
	restored := newShardAccounts(a.rules, oneSlice{})
	if err := restored.applyDelta(a.decided.delta, s.windows(1)); err != nil {
		t.Fatal(err)
	}
	for user := range 3 {
		if got, want := restored.accountOf(user), a.accountOf(user); got != want {
			t.Errorf("user %d: restored %+v, decided %+v", user, got, want)
		}
	}
}
