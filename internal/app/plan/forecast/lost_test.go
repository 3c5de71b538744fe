package forecast_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// lostUsers returns how many users the sequential reference leaves out of a window for their
// budget. The product's decisions are those of the reference (package integration); it does not
// tell them.
func lostUsers(t *testing.T, s shapes.Shape, events []shapes.Event, settings demo.Settings, key uint64) float64 {
	t.Helper()
	d, err := settings.Compile()
	if err != nil {
		t.Fatal(err)
	}
	size := s.Window.Milliseconds()
	first, last := events[0].At.UnixMilli(), events[len(events)-1].At.UnixMilli()
	start := first - first%size
	bits := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("lost users"), key))
	c := reference.Config{
		Incarnation: [16]byte(bits[:]), Generation: 1, UserHash: bits, Noise: noisereduction.NoiseKey{ID: "1", Secret: secret.New(bits)},
		Format: event.Format{Format: "jsonl", User: "u", Key: "k", Time: "t", TimeUnit: "ms"},
		Budget: reference.Budget{Mu2: new(big.Int).SetUint64(uint64(d.Budget.Mu2)), Keys: d.Budget.Keys.Big()},
		Start:  start, NoFuture: true, Metrics: []schemas.MetricSpec{d.Metrics[0].Spec}, Counts: schemas.CountsEncoding{Format: "json"},
	}
	log := reference.Log{}
	for i, e := range events {
		value, err := json.Marshal(map[string]any{"u": e.User, "k": e.Key, "t": e.At.UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		log[0] = append(log[0], reference.Record{Offset: int64(i), Timestamp: e.At.UnixMilli(), Value: value})
	}
	out, err := reference.Run(c, log, nil, uint64((last-start)/size+1))
	if err != nil {
		t.Fatal(err)
	}
	lost := 0.0
	for _, decisions := range out.Admitted {
		for _, one := range decisions {
			if !one.Admitted {
				lost++
				break
			}
		}
	}
	return lost
}

// The users that a forecast says will be left out are as many as the reference leaves out: under
// bounds that few can pay for to the end, over noise keys, within 10 %, two standard errors or one.
func TestUsersLostAreThoseOfTheReference(t *testing.T) {
	long.Test(t)
	const paths = 20
	keys, all := 3, shapes.All()[:6]
	some := 0
	for _, s := range all {
		if s.Name == "windows" {
			continue // ten thousand turns in the reference's big numbers
		}
		events := s.Events()
		w := sampled(t, events, s.Window)
		few, public := defaults(s), defaults(s)
		few.Epsilon, few.MaxKeysPerUser, few.MaxEventsPerKey, few.LastAtLeast = 8, 5, 3, 2
		// Without a part of δ for keys what is left depends on how exact counts became.
		public.PublicKeys, public.LastAtLeast, public.Target.Relative = []string{"k0000", "k0001", "k0002", "k0003"}, 1, 0.04
		for name, settings := range map[string]demo.Settings{"few windows": few, "public": public} {
			d, err := settings.Compile()
			if err != nil {
				t.Fatal(err)
			}
			f, err := forecast.Of(t.Context(), w, d, forecast.Options{Paths: paths, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			mean, squares := 0.0, 0.0
			for key := range keys {
				n := lostUsers(t, s, events, settings, uint64(key))
				mean += n / float64(keys)
				squares += n * n / float64(keys)
			}
			said := f.Lost[len(f.Lost)-1]
			se := math.Sqrt(max(0, squares-mean*mean)/float64(keys-1) + said.SE*said.SE)
			t.Logf("%s, %s: %.1f users are lost, forecast %.1f ± %.1f", s.Name, name, mean, said.Users, se)
			if math.Abs(mean-said.Users) > max(0.1*mean, 2*se, 1) {
				t.Errorf("%s, %s: %.1f users are lost, forecast %.1f ± %.1f", s.Name, name, mean, said.Users, se)
			}
			if mean > 1 {
				some++
			}
		}
	}
	if some < 3 {
		t.Errorf("users are lost under %d of the settings: the test says little", some)
	}
}
