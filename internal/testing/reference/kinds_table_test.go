package reference

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Every kind of the table is computed here on its own: with the same bounds one user's events of a
// key come to the same contribution, and to the same most.
func TestEveryKindIsComputedASecondTime(t *testing.T) {
	hasher := schemas.NewHasher([32]byte{1})
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(metrickind.Offered()).Draw(t, "kind")
		m := schemas.MetricSpec{Name: "m", Kind: kind.Name, MaxEventsPerKey: rapid.Uint32Range(1, 9).Draw(t, "C")}
		if kind.Values {
			m.Min, m.Max = rapid.Int64Range(-9, 0).Draw(t, "min"), rapid.Int64Range(1, 9).Draw(t, "max")
		}
		bounds := metrickind.Bounds{Events: int64(m.MaxEventsPerKey), Min: m.Min, Max: m.Max}
		if most := greatestTotal(m); most.Int64() != kind.Sensitivity(bounds) {
			t.Fatalf("%s: one user changes a count by at most %v, and by %d in the table", kind.Name, most, kind.Sensitivity(bounds))
		}
		if kind.Values {
			return // which values count is clipping's to say: the property tests of the pipeline compare it
		}
		visits := make([]Visit, rapid.IntRange(1, 20).Draw(t, "events"))
		key := ofKey(hasher, m, Owner{}, visits)
		counted, want := kind.Contribution(uint64(len(visits)), bounds)
		if key.Total.Int64() != want || key.Records != counted {
			t.Fatalf("%s: %d events of a key come to %v (%d of them), and to %d (%d) in the table", kind.Name, len(visits), key.Total, key.Records, want, counted)
		}
	})
}
