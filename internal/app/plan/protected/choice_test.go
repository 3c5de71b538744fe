package protected

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func budget(t testing.TB, share float64) budgets.Budget {
	t.Helper()
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7)
	if err == nil {
		b, err = b.Plan(share)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type record struct {
	user, key string
	millis    int64
	value     int64
}

func choice(t testing.TB, o Options, records []record) *Choice {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // of a test
	for _, r := range records {
		if err := c.Add([]byte(r.user), []byte(r.key), r.millis, r.value); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Without a user, the tables change only in the numbers that count this user. These changes cost at
// most the planned part of the budget, and at most the planned part of the δ of the keys.
func TestRuleAChoiceCostsAnIndividualWhatIsPlanned(t *testing.T) {
	b := budget(t, .05)
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Window: time.Second, Budget: b, Memory: rapid.SampledFrom([]int{1, 1 << 20}).Draw(rt, "memory")}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)) // fixed seed: rapid draws it
		if random.IntN(3) > 0 {
			o.From, o.To = 1+random.Int64N(3000), 5000+random.Int64N(7000)
		}
		if rapid.Bool().Draw(rt, "public") {
			o.PublicKeys = []string{"k0", "k2"}
		}
		o.Values = rapid.Bool().Draw(rt, "values")
		o.mostCells = rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "cells")
		records := make([]record, 1+random.IntN(80))
		for i := range records {
			records[i] = record{fmt.Sprint("u", random.IntN(6)), fmt.Sprint("k", random.IntN(9)), random.Int64N(15_000) - 3000, int64(random.Uint64())}
		}
		target := records[random.IntN(len(records))]
		rest := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.user == target.user })
		c := choice(t, o, records)
		with, err := c.tables()
		if err != nil {
			rt.Fatal(err)
		}
		less := choice(t, o, rest)
		without, err := less.tables()
		if err = errors.Join(err, c.Close(), less.Close()); err != nil {
			rt.Fatal(err)
		}
		paid, delta, most := new(big.Int), new(big.Int), int64(0)
		pay := func(d int64, u units.Precision) {
			if d < 0 {
				rt.Fatalf("a number falls by %d where an individual comes", -d)
			}
			most = max(most, d)
			charge, ok := units.Charge(uint64(d), u)
			if !ok {
				rt.Fatal("the charge does not fit")
			}
			paid.Add(paid, new(big.Int).SetUint64(uint64(charge)))
		}
		for i := range with.shape {
			for j := range with.shape[i] {
				pay(with.shape[i][j]-without.shape[i][j], c.prices.shape)
			}
		}
		for i := range with.windows {
			pay(with.windows[i]-without.windows[i], c.prices.windows)
		}
		for i := range with.values {
			pay(with.values[i]-without.values[i], c.prices.values)
		}
		for k, n := range with.keys {
			pay(n-without.keys[k], c.prices.keys)
			if n != without.keys[k] {
				delta.Add(delta, c.prices.deltaKey.Big())
			}
		}
		for k := range without.keys {
			if with.keys[k] == 0 {
				rt.Fatalf("key %s is there only without an individual", k)
			}
		}
		if paid.Cmp(new(big.Int).SetUint64(uint64(b.Planned.Mu2))) > 0 || delta.Cmp(b.Planned.Keys.Big()) > 0 || most > 1 {
			rt.Fatalf("an individual moves numbers by %d, pays %v units and %v of δ, planned are %v and %v", most, paid, delta, b.Planned.Mu2, b.Planned.Keys.Big())
		}
	})
}

// population has users of three kinds: many keys at once, many events of few keys, few of both.
func population(users int) []record {
	var out []record
	for u := range users {
		id := fmt.Sprint("u", u)
		switch u % 3 {
		case 0:
			for k := range 20 {
				out = append(out, record{id, fmt.Sprint("k", k), 0, 5})
			}
		case 1:
			for i := range 40 {
				out = append(out, record{id, "k1", int64(i%4) * 1000, -1000})
			}
		default:
			out = append(out, record{id, "k2", int64(u%10) * 1000, 40})
		}
	}
	return out
}

// Two choices share no noise, whatever they differ in: numbers that count the same users differ.
// The order of records changes nothing.
func TestRuleTwoChoicesShareNoNoise(t *testing.T) {
	o := Options{Window: time.Second, Budget: budget(t, .2), Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{7})}}
	records := population(600)
	release := func(o Options, records []record) *Release {
		r, err := choice(t, o, records).Release()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := release(o, records)
	turned := slices.Clone(records)
	slices.Reverse(turned)
	if diff := cmp.Diff(first, release(o, turned), cmp.AllowUnexported(Release{}, Options{})); diff != "" {
		t.Errorf("the order of records changes a release:\n%s", diff)
	}
	// Also where an individual has more cells than are remembered.
	few := o
	few.mostCells = 10
	if diff := cmp.Diff(release(few, records), release(few, turned), cmp.AllowUnexported(Release{}, Options{})); diff != "" {
		t.Errorf("the order of records changes a release with individuals of many cells:\n%s", diff)
	}
	for name, other := range map[string]*Release{
		"one record more": release(o, append(turned, record{"u2", "k2", 5000, 40})),
		"another range":   release(Options{Window: o.Window, Budget: o.Budget, Key: o.Key, From: -10}, records),
		"another file":    release(Options{Window: o.Window, Budget: o.Budget, Key: o.Key, Read: "x"}, records),
		"another key":     release(Options{Window: o.Window, Budget: o.Budget, Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{8})}}, records),
		"another share":   release(Options{Window: o.Window, Budget: budget(t, .21), Key: o.Key}, records),
	} {
		same := 0
		for i := range first.Shape {
			for j := range first.Shape[i] {
				if first.Shape[i][j] == other.Shape[i][j] {
					same++
				}
			}
		}
		if same > 2 || first.ID == other.ID && name != "one record more" {
			t.Errorf("%s: %d of 100 numbers are the same", name, same)
		}
	}
}

// A release of tables of one layout is not taken for one of another.
func TestRuleAnotherLayoutIsAnotherChoice(t *testing.T) {
	c := choice(t, Options{Window: time.Second, Budget: budget(t, .2)}, nil)
	names := map[[32]byte]bool{}
	for _, rows := range []*[]int{nil, &keyRows, &eventRows, &windowRows} {
		old := []int(nil)
		if rows != nil {
			old = *rows
			*rows = append(slices.Clone(old[:len(old)-1]), 12_345)
		}
		name, err := c.arguments()
		if err != nil || names[name] {
			t.Errorf("a layout has the name of another: %v", err)
		}
		names[name] = true
		if rows != nil {
			*rows = old
		}
	}
}

// Values are told apart by their sizes and signs, and events that are made up have such values: of
// three kinds of users who add −1000, 5 and 40.
func TestValuesThatAreMadeUpAreLikeTheRealOnes(t *testing.T) {
	o := Options{Window: time.Second, Budget: budget(t, .5), PublicKeys: []string{"k1", "k2", "k3"}, Values: true, Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{7})}}
	r, err := choice(t, o, population(3000)).Release()
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Sample()
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Windows(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float32]bool{}
	for i := range w.Len() {
		for _, c := range w.At(i) {
			seen[c.Value] = true
		}
	}
	if want := map[float32]bool{-720: true, 6: true, 45: true}; !s.Values || !cmp.Equal(seen, want) {
		t.Errorf("values %v, want %v", seen, want)
	}
	for _, v := range []int64{0, 1, -1, 5, -1000, 1 << 34, math.MaxInt64, math.MinInt64} {
		of := valueOf(valueRow(v))
		if v > -1<<35 && v < 1<<35 && (math.Abs(float64(of-v)) > math.Abs(float64(v))/2 || of == 0 != (v == 0)) || of < 0 != (v < 0) {
			t.Errorf("%d stands for %d", of, v)
		}
	}
}

func TestAChoiceThatPaysForNothingIsRefused(t *testing.T) {
	if _, err := New(Options{Window: time.Second, Budget: budget(t, 2e-11)}); !errors.Is(err, ErrTooLittle) {
		t.Errorf("got %v, want ErrTooLittle", err)
	}
	few := choice(t, Options{Window: time.Second, Budget: budget(t, .05), Key: noisereduction.NoiseKey{Secret: secret.New([32]byte{1})}}, population(100))
	r, err := few.Release()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Sample(); r.Suffices() || !errors.Is(err, ErrTooLittle) {
		t.Errorf("100 users suffice: %v", err)
	}
}
