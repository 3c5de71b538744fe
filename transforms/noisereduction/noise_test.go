package noisereduction

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
)

func precision(t testing.TB, sigma float64) units.Precision {
	t.Helper()
	u, err := units.PrecisionFromSigma(sigma)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// testKey returns a key with a secret that is not zero.
func testKey() NoiseKey {
	var bits [32]byte
	for i := range bits {
		bits[i] = byte(i * 7)
	}
	return NoiseKey{ID: "test", Secret: secret.New(bits)}
}

func testIdentity() Identity {
	id := Identity{WindowStart: 1_700_000_000_000, WindowEnd: 1_700_000_060_000, Key: []byte("/home")}
	id.Incarnation[0], id.MetricDigest[0] = 1, 2
	return id
}

// deviates draws n noises of one precision in units of σ, over as many counts.
func deviates(t testing.TB, n int, uPrev, u units.Precision) []float64 {
	t.Helper()
	increment, _ := u.Sub(uPrev)
	root := math.Sqrt(increment.Float())
	var s Sampler
	all := make([]float64, n)
	k := testKey()
	s.begin(testIdentity())
	for i := range all {
		noise, exponent, err := s.noise(&k, 1, uPrev, u, int64(i))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = math.Ldexp(float64(noise), -int(exponent)) * root
	}
	return all
}

func phi(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// TestNoiseIsGaussian is a KS test (critical value 2.9/√n) and a χ² test with 100 equally probable
// cells (critical value 192): false-reject rate 1e-7 each, if the noise's format changes.
func TestNoiseIsGaussian(t *testing.T) {
	n := chance.Trials(1_000_000)
	z := deviates(t, n, units.Precision{}, precision(t, 37))
	const cells = 100
	var hits [cells]int
	for _, x := range z {
		hits[min(int(phi(x)*cells), cells-1)]++
	}
	chi2, expected := 0.0, float64(n)/cells
	for _, h := range hits {
		chi2 += (float64(h) - expected) * (float64(h) - expected) / expected
	}
	if chi2 > 192 {
		t.Errorf("χ² = %.1f over %d cells, limit 192", chi2, cells)
	}
	sort.Float64s(z)
	ks := 0.0
	for i, x := range z {
		ks = max(ks, math.Abs(phi(x)-float64(i)/float64(n)), math.Abs(phi(x)-float64(i+1)/float64(n)))
	}
	if limit := 2.9 / math.Sqrt(float64(n)); ks > limit {
		t.Errorf("KS distance %.6f, limit %.6f", ks, limit)
	}
	t.Logf("n = %d: χ² %.1f (limit 192), KS %.6f (limit %.6f)", n, chi2, ks, 2.9/math.Sqrt(float64(n)))
}

// TestRungCovariance: Cov(est_i, est_j) = min(1/u_i, 1/u_j) within 2.2%,
// 6.2% without TOLLGATE_LONG. The worst of the ten entries has a standard error of 0.4% and
// 1.13%: false-reject rate below 1e-6, if the noise's format changes.
func TestRungCovariance(t *testing.T) {
	n, tolerance := 400_000, 0.022
	if !long.On() {
		n, tolerance = 50_000, 0.062
	}
	p := compile(t, Spec{Kind: Geometric, Factor: 1.5, First: precision(t, 50), Top: precision(t, 27),
		Target: Target{Confidence: .95}})
	ladder := p.Ladder()[:4]
	var s Sampler
	k := testKey()
	s.begin(testIdentity())
	covariance := [4][4]float64{}
	for f := range int64(n) {
		var before units.Precision
		var est [4]float64
		sum := 0.0
		for i, u := range ladder {
			noise, exponent, err := s.noise(&k, i+1, before, u, f)
			if err != nil {
				t.Fatal(err)
			}
			sum += (u.Float() - before.Float()) * math.Ldexp(float64(noise), -int(exponent))
			est[i], before = sum/u.Float(), u
			for j := range i + 1 {
				covariance[i][j] += est[i] * est[j] / float64(n)
			}
		}
	}
	for i := range ladder {
		for j := range i + 1 {
			want := 1 / ladder[i].Float()
			if off := covariance[i][j]/want - 1; math.Abs(off) > tolerance {
				t.Errorf("Cov(est_%d, est_%d) = %.2f, want %.2f (%+.2f%%)", i+1, j+1, covariance[i][j], want, 100*off)
			}
		}
	}
}

func TestDrawIsReproducible(t *testing.T) {
	var s Sampler
	y, exponent, err := s.Draw(testKey(), testIdentity(), 2, precision(t, 200), precision(t, 100), 12345)
	if err != nil {
		t.Fatal(err)
	}
	const want, wantExponent = "12750510", 10
	if y.String() != want || exponent != wantExponent {
		t.Errorf("drew %v·2^-%d, want %v·2^-%d: a change of noise needs another noiseFormat", y, exponent, want,
			wantExponent)
	}
}

// TestRuleNoiseInputHasPrecisions changes every input of the pseudorandom
// function in turn, the precisions among them, and wants other noise.
func TestRuleNoiseInputHasPrecisions(t *testing.T) {
	type input struct {
		k        NoiseKey
		id       Identity
		rung     int
		uPrev, u units.Precision
		count    int64
	}
	base := input{testKey(), testIdentity(), 2, precision(t, 200), precision(t, 100), 12345}
	draw := func(in input) *big.Int {
		t.Helper()
		var s Sampler
		y, exponent, err := s.Draw(in.k, in.id, in.rung, in.uPrev, in.u, in.count)
		if err != nil {
			t.Fatal(err)
		}
		return y.Sub(y, new(big.Int).Lsh(new(big.Int).SetInt64(in.count), exponent))
	}
	reference := draw(base)
	changes := map[string]func(*input){
		"secret":           func(in *input) { in.k.Secret = secret.New([32]byte{31: 1}) },
		"incarnation":      func(in *input) { in.id.Incarnation[15]++ },
		"metric":           func(in *input) { in.id.MetricDigest[31]++ },
		"window start":     func(in *input) { in.id.WindowStart++ },
		"window end":       func(in *input) { in.id.WindowEnd++ },
		"key":              func(in *input) { in.id.Key = []byte("/home/") },
		"empty key":        func(in *input) { in.id.Key = nil },
		"rung":             func(in *input) { in.rung++ },
		"previous":         func(in *input) { in.uPrev.Lo++ },
		"precision":        func(in *input) { in.u.Lo++ },
		"both by the same": func(in *input) { in.uPrev.Lo++; in.u.Lo++ },
		"count":            func(in *input) { in.count++ },
	}
	for name, change := range changes {
		in := base
		change(&in)
		if draw(in).Cmp(reference) == 0 {
			t.Errorf("%s: a changed input drew the same noise", name)
		}
	}
	renamed := base
	renamed.k.ID = "another name"
	if draw(renamed).Cmp(reference) != 0 {
		t.Error("the key's public name changed the noise")
	}
}

// Inputs that differ in any field have different encodings, and equal ones the same.
func TestNoiseInputIsInjective(t *testing.T) {
	// A few values for each field, so that many pairs differ in one of them only.
	fields := map[string]func(id *Identity, d *draw, v uint64){
		"incarnation": func(id *Identity, _ *draw, v uint64) { id.Incarnation[15] = byte(v) },
		"metric":      func(id *Identity, _ *draw, v uint64) { id.MetricDigest[31] = byte(v) },
		"start":       func(id *Identity, _ *draw, v uint64) { id.WindowStart = int64(v) },
		"end":         func(id *Identity, _ *draw, v uint64) { id.WindowEnd = int64(v) },
		"key":         func(id *Identity, _ *draw, v uint64) { id.Key = make([]byte, 30*v) },
		"rung":        func(_ *Identity, d *draw, v uint64) { d.rung = int(v) },
		"previous":    func(_ *Identity, d *draw, v uint64) { d.previous.Lo = v },
		"precision":   func(_ *Identity, d *draw, v uint64) { d.precision.Lo = v },
		"exponent":    func(_ *Identity, d *draw, v uint64) { d.exponent = uint(v) },
		"count":       func(_ *Identity, d *draw, v uint64) { d.exactCount = -v },
	}
	if n := reflect.TypeFor[Identity]().NumField() + reflect.TypeFor[draw]().NumField(); n != len(fields) {
		t.Fatalf("an input has %d fields, of which %d are drawn", n, len(fields))
	}
	names := slices.Sorted(maps.Keys(fields))
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		var id Identity
		var d draw
		for _, name := range names {
			fields[name](&id, &d, rapid.Uint64Range(0, 2).Draw(t, name))
		}
		for _, name := range names {
			for v := range uint64(3) {
				fields[name](&id, &d, v)
				encoded, input := string(appendDraw(appendIdentity(nil, id), d)), fmt.Sprint(id, d)
				if other, there := seen[encoded]; there && other != input {
					t.Fatalf("%v and %v have one encoding", input, other)
				}
				seen[encoded] = input
			}
		}
	})
	if inputs := slices.Compact(slices.Sorted(maps.Values(seen))); len(inputs) !=
		len(seen) { // by chance: never, whatever was drawn
		t.Errorf("%d inputs have %d encodings", len(inputs), len(seen))
	}
}

// TestRuleDeviationCoversTheCharge: q·2^-t ≥ 2^exponent/√u, and no more than 2^-30 above.
func TestRuleDeviationCoversTheCharge(t *testing.T) {
	// The root of a square is exact, so the division alone decides.
	for n := uint64(1); n < 1<<16; n += 2 {
		deviationCovers(t, units.Precision{Lo: n * n})
	}
	rapid.Check(t, func(t *rapid.T) {
		u := units.Precision{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64Min(1).Draw(t, "lo")}
		if rapid.Bool().Draw(t, "small") {
			u.Hi = 0
		}
		deviationCovers(t, u)
	})
}

func deviationCovers(t rapid.TB, u units.Precision) {
	t.Helper()
	exponent := latticeExponent(u)
	q, shift := scaledDeviation(u, exponent)
	if shift == 0 || shift > 63 {
		t.Fatalf("shift %d", shift)
	}
	// (q·2^-t)²·u·2^-80 against 2^(2·exponent)
	left := new(big.Int).SetUint64(q)
	left.Mul(left, left)
	left.Mul(left, u.Big())
	right := new(big.Int).Lsh(big.NewInt(1), 2*exponent+2*shift+precisionBits)
	if left.Cmp(right) < 0 {
		t.Fatalf("u = %v: noise of less than 1/√u", u)
	}
	excess, _ := new(big.Rat).SetFrac(left, right).Float64()
	if excess-1 > 0x1p-29 {
		t.Fatalf("u = %v: variance %g too large", u, excess-1)
	}
}

// TestRuleClampNeverTheNoise: the rounded noise of a draw does not depend on how large the count
// beside it is, up to the greatest count; nothing is cut at zero or at the ends of an integer,
// neither of the draw nor of the released value.
func TestRuleClampNeverTheNoise(t *testing.T) {
	k := testKey()
	var s Sampler
	u := units.Precision{Lo: 1} // σ = 2^40
	const deviation = 1 << (40 + valueBits)
	p := compile(t, Spec{Kind: Adaptive, First: u, Top: u, Target: Target{Confidence: .95}})
	for _, count := range []int64{0, 1, MaxCount, -1, -MaxCount} {
		var least, greatest int64
		for i := range int64(40) {
			id := testIdentity()
			id.WindowStart = i
			y, exponent, err := s.Draw(k, id, 1, units.Precision{}, u, count)
			if err != nil {
				t.Fatal(err)
			}
			s.begin(id)
			noise, _, err := s.noise(&k, 1, units.Precision{}, u, count)
			if err != nil {
				t.Fatal(err)
			}
			sum := new(big.Int).SetInt64(count)
			if sum.Lsh(sum, exponent); y.Cmp(sum.Add(sum, big.NewInt(noise))) != 0 {
				t.Fatalf("y = %v is not count + noise", y)
			}
			r, err := p.Release(k, id, count)
			if err != nil {
				t.Fatal(err)
			}
			if exponent != valueBits || r.Value != y.Int64() {
				t.Fatalf("count %d: released %d, drawn were %v·2^-%d", count, r.Value, y, exponent)
			}
			least, greatest = min(least, noise), max(greatest, noise)
		}
		if least > -deviation || greatest < deviation {
			t.Errorf("count %d: noise from %d to %d, cut before one deviation of %d", count, least, greatest, deviation)
		}
	}
}

// The lattice that values are rounded to contains the integers and is a function of the two
// precisions alone; rounding commutes with adding the count.
func TestRuleTheLatticeDependsOnPublicValuesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, err1 := units.PrecisionFromSigma(rapid.Float64Range(10, 1e6).Draw(t, "from"))
		to, err2 := units.PrecisionFromSigma(rapid.Float64Range(0.01, 9).Draw(t, "to"))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var sampler Sampler
		exponents := map[uint]bool{}
		for _, count := range []int64{0, 1, -1, MaxCount, -MaxCount, rapid.Int64Range(-1<<40, 1<<40).Draw(t, "count")} {
			for id := range byte(3) {
				_, exponent, err := sampler.Draw(NoiseKey{Secret: secret.New([32]byte{id})}, Identity{Key: []byte{id}},
					1, from, to, count)
				if err != nil {
					t.Fatal(err)
				}
				exponents[exponent] = true // multiples of 2^-exponent, and exponent ≥ 0
			}
		}
		if len(exponents) != 1 {
			t.Fatalf("the lattices of one pair of precisions are 2^-%v", exponents)
		}
	})
}
