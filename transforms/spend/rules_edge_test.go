package spend

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// TestRuleKeyExistsIffAdmittedCount: keys of users without budget, clipped and
// filtered ones exist nowhere; not in the partials, not in a price.
func TestRuleKeyExistsIffAdmittedCount(t *testing.T) {
	private := metric1("m")
	private.Filter = "x" // bit 0
	for _, m := range []schemas.MetricSpec{publicMetric("m", "a", "b"), private} {
		t.Run(m.KeyMode, func(t *testing.T) {
			for user := range 10 { // their keys have other ranks
				keyExistsIffAdmitted(t, m, user)
			}
		})
	}
}

func keyExistsIffAdmitted(t *testing.T, m schemas.MetricSpec, user int) {
	t.Helper()
	m.MaxKeysPerUser = 1
	s := deployment(4*100, m)
	cs := []contribution{{user: user, key: "a", n: 10, passes: 1}, {user: user, key: "b", n: 10, passes: 1},
		{user: user, key: "elsewhere", n: 1}}
	a := mustAccounts(t, s, cs)
	blobs := must.Have(a.partials(0, &schemas.Open{Turn: 1, Shards: 1}))
	p, err := schemas.DecodePartial(blobs[0].Data)
	if err != nil || len(p.Cells) != 1 || p.Cells[0].Count != 10 || string(p.Cells[0].Key) == "elsewhere" {
		t.Fatalf("cells are %+v (%v)", p.Cells, err)
	}
	// The same user again, without budget: no key at all.
	must.Succeed(t, a.charge(released(unit(4), map[string]units.Precision{"a": unit(4), "b": unit(4)})))
	mustDecide(t, a, s, cs)
	counts := a.counts(a.decided)
	for _, there := range counts.present[0] {
		if there {
			t.Fatalf("a user without budget is counted: %v", counts)
		}
	}
	if _, there := cellOf(t, a, 0, string(p.Cells[0].Key)); there {
		t.Fatalf("the key %q of a user without budget is handed on", p.Cells[0].Key)
	}
}

// TestRuleOverflowIsNotAdmitted: a charge past 64 bits is not a refund, nor are charges that leave
// them once they are added, of two keys.
func TestRuleOverflowIsNotAdmitted(t *testing.T) {
	m := metric1("m")
	m.MaxEventsPerKey, m.Top = 1<<30, units.Precision{Hi: 1 << 40}
	for _, n := range []uint32{1 << 20, 1 << 30, 1<<32 - 1} {
		cs := []contribution{{user: 1, key: "a", n: n}, {user: 1, key: "b", n: 1}}
		for keys := range 2 {
			a := mustAccounts(t, deployment(units.MaxMu2, m), cs[:keys+1])
			if len(a.decided.reservations.list) > 0 || a.accountOf(1) != (accounts.Account{}) {
				t.Errorf("%d events of the first of %d keys: admitted with %+v", n, keys+1, a.accountOf(1))
			}
		}
	}
	half := metric1("m") // one event costs half of all units
	half.Top = units.Precision{Hi: 1 << 39}
	for _, c := range []struct {
		keys []string
		want units.Mu2
	}{
		{[]string{"a"}, 1 << 63},
		{[]string{"a", "b"}, 1 << 63},
		{[]string{"a", "b", "c"}, 1 << 63}, // would wrap to the price of one
	} {
		var cs []contribution
		for _, key := range c.keys {
			cs = append(cs, contribution{user: 1, key: key, n: 1})
		}
		a := mustAccounts(t, deployment(units.MaxMu2, half), cs)
		if got := a.accountOf(1).Reserved; got != c.want || (len(a.decided.reservations.list) > 0) != (c.want > 0) {
			t.Errorf("%d keys: %d reserved by %d admissions, want %d", len(c.keys), got,
				len(a.decided.reservations.list), c.want)
		}
	}
}

// TestRuleSquaresOfATreeDoNotOverflow: as many events of a key as a bound can allow, all of one
// value, reserve their square in each of five levels, exactly; or as many count as can be paid for.
func TestRuleSquaresOfATreeDoNotOverflow(t *testing.T) {
	for name, c := range map[string]struct {
		top  uint64 // precision, in units of 2^-80
		want units.Mu2
	}{
		"fits":            {1 << 41, 6 << 61},
		"past 64 bits":    {1 << 42, 24 * 876_706_528 * 876_706_528},
		"far past 64":     {1 << 63, 6 << 23 * 605_395 * 605_395},
		"a unit and more": {1<<40 + 1, 6<<60 + 6<<20},
	} {
		m := metric1("m")
		m.Kind, m.Max, m.MaxEventsPerKey, m.Top = metrickind.Quantiles, 1<<32, 1<<30, units.Precision{Lo: c.top}
		metrics := append([]schemas.MetricSpec{m}, extraOf(&m)...)
		if scale, err := metrics[1].Scale(); err != nil || scale.Levels() != 5 {
			t.Fatalf("not five levels (%v)", err)
		}
		a := mustAccounts(t, deployment(units.MaxMu2, metrics...),
			[]contribution{{user: 1, key: "a", n: 1<<32 - 1, value: math.MaxInt64}})
		if got := a.accountOf(1).Reserved; got != c.want || (len(a.decided.reservations.list) > 0) != (c.want > 0) {
			t.Errorf("%s: %d reserved by %d admissions, want %d", name, got, len(a.decided.reservations.list), c.want)
		}
	}
}
