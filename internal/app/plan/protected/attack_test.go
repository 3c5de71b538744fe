package protected

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// An attacker who knows everything but whether one user is present looks at the cells that count
// this user, and for a page that only this user visits. Over 2,000 choices, half of them with the
// user, the attacker's best test is no better than the planned part allows, and not much worse than
// it could be (false-reject rate below 1e-6 on every side).
func TestAttackOnAChoice(t *testing.T) {
	runs := 1000
	if !long.On() {
		runs = 100 // shows gross mistakes only
	}
	b, err := budgets.NewBudget(1, .3, budgets.GDP, .2) // so large a δ that its use can be seen
	if err == nil {
		b, err = b.Plan(.5)
	}
	if err != nil {
		t.Fatal(err)
	}
	without := population(6)
	with := slices.Clone(without)
	for w := range 3 {
		for k := range 12 {
			with = append(with, record{"victim", fmt.Sprint("secret", k), int64(w) * 1000, math.MinInt64})
		}
	}
	named := 0.
	statistic := func(records []record, run int) float64 {
		o := Options{Window: time.Second, Budget: b, Values: true}
		var key [32]byte
		binary.BigEndian.PutUint64(key[:], uint64(2*run+len(records)%2))
		o.Key = noisereduction.NoiseKey{ID: "1", Secret: secret.New(key)}
		r, err := choice(t, o, records).Release()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range r.Keys {
			if len(k.Name) > 6 { // a page of the victim
				named++
				break
			}
		}
		return r.Shape[row(keyRows, 12)][row(eventRows, 1)]/(r.ShapeSigma*r.ShapeSigma) + r.Windows[row(windowRows, 3)]/(r.WindowsSigma*r.WindowsSigma) +
			r.Values[0]/(r.ValuesSigma*r.ValuesSigma)
	}
	var in, out []float64
	for run := range runs {
		in, out = append(in, statistic(with, run)), append(out, statistic(without, run))
	}
	min1, d1 := meanAndDeviation(in)
	min0, d0 := meanAndDeviation(out)
	got, all := (min1-min0)/math.Sqrt((d1*d1+d0*d0)/2), b.Planned.Mu2.Mu()
	wanted := math.Sqrt(5./6) * all // these three tables have five shares of six
	e := 5 * math.Sqrt(2/float64(runs))
	t.Logf("the attack separates by %.3f ± %.3f, what is planned allows %.3f; a page of the victim is named in %.1f %% of the choices, allowed are %.1f %%",
		got, e, all, 100*named/float64(runs), 100*b.Planned.Keys.Float())
	if got > wanted+e || got < wanted-e {
		t.Errorf("the attack separates by %.3f, these tables may by %.3f, all by %.3f", got, wanted, all)
	}
	d := b.Planned.Keys.Float()
	if spread := 5 * math.Sqrt(d/float64(runs)); named/float64(runs) > d+spread || named/float64(runs) < .7*d-spread {
		t.Errorf("a page of the victim is named in %.1f %% of the choices, allowed are %.1f %%", 100*named/float64(runs), 100*d)
	}
}

func meanAndDeviation(v []float64) (m, d float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	for _, x := range v {
		d += (x - m) * (x - m) / float64(len(v)-1)
	}
	return m, math.Sqrt(d)
}
