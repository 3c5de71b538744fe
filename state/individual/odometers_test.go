package individual_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/individual"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestEveryUserHasAnOdometerOfTheirOwn(t *testing.T) {
	o := must(individual.NewOdometers[string](func() (odometer.Odometer[loss.GDP, loss.GDP], error) {
		return odometer.NewGDPTracker(1)
	}))
	for range 9 {
		if err := o.Record(each([]pair[loss.GDP]{{"a", loss.GDP{Mu: 1}}, {"b", loss.GDP{Mu: 0.5}}})); err != nil {
			t.Fatal(err)
		}
	}
	for user, want := range map[string]float64{"a": 3, "b": 1.7320508075688774, "nobody": 0} { // 9 steps, 3 steps
		if got := o.Bound(user); got.Mu != want {
			t.Errorf("%s: μ = %v, want %v", user, got.Mu, want)
		}
	}
}

func TestOdometersRefuseWhatTheyCannotRecord(t *testing.T) {
	o := must(individual.NewOdometers[string](func() (odometer.Odometer[loss.GDP, loss.GDP], error) {
		return odometer.NewGDPTracker(1)
	}))
	l := loss.GDP{Mu: 0.5}
	if err := o.Record(each([]pair[loss.GDP]{{"a", l}, {"a", l}})); !errors.Is(err, individual.ErrTwice) {
		t.Errorf("a user twice: %v", err)
	}
	var out *units.RangeError
	if err := o.Record(each([]pair[loss.GDP]{{"a", loss.GDP{Mu: math.NaN()}}})); !errors.As(err, &out) || out.Parameter != "mu" {
		t.Errorf("an invalid loss: %v", err)
	}
	if err := o.Record(each([]pair[loss.GDP]{{"a", loss.GDP{Mu: 2}}})); !errors.Is(err, odometer.ErrStep) {
		t.Errorf("a loss above a step: %v", err)
	}
	if got := o.Bound("a"); got.Mu != 1 {
		t.Errorf("after refusals μ = %v, want 1", got.Mu)
	}
	if _, err := individual.NewOdometers[string](func() (odometer.Odometer[loss.GDP, loss.GDP], error) {
		return odometer.NewGDPTracker(-1)
	}); !errors.As(err, &out) {
		t.Errorf("odometers that cannot be made: %v", err)
	}
}
