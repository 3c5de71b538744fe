package transforms_test

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// The threshold of a private key hides all that one user can add to a count of any kind in the
// table.
func TestAThresholdHidesTheSensitivityOfTheKind(t *testing.T) {
	threshold := func(kind string, events uint32) (float64, error) {
		precision, err := units.PrecisionFromSigma(0.001)
		if err != nil {
			t.Fatal(err)
		}
		delta, err := units.DeltaFromFloat(1e-9)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := release.PlanOf(&schemas.MetricSpec{
			Name: "m", Kind: kind, MaxKeysPerUser: 1, MaxEventsPerKey: events, LadderKind: "geometric", LadderFactor: 2,
			First: precision, Top: precision, Confidence: 0.95, KeyMode: schemas.KeysPrivate, DeltaKey: delta,
		})
		if err != nil {
			return 0, err
		}
		return plan.Threshold(), nil
	}
	for _, k := range metrickind.Counting() {
		low, err := threshold(k.Name, 1)
		if err != nil {
			t.Fatal(err)
		}
		high, err := threshold(k.Name, 40)
		if err != nil {
			t.Fatal(err)
		}
		more := k.Sensitivity(metrickind.Bounds{Events: 40}) - k.Sensitivity(metrickind.Bounds{Events: 1})
		if got := high - low; got < float64(more)-0.01 || got > float64(more)+0.01 {
			t.Errorf("%s: the threshold rises by %v from 1 event to 40, the sensitivity by %d", k.Name, got, more)
		}
	}
	if _, err := threshold("median", 1); !errors.Is(err, noisereduction.ErrSpec) {
		t.Errorf("a kind that is not in the table: %v", err)
	}
}
