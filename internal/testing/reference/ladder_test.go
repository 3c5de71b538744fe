package reference

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// shape is a ladder to compare the two implementations on.
type shape struct {
	kind               noisereduction.Kind
	factor, first, top float64 // deviations
	target             noisereduction.Target
	mode               string
}

func (s shape) spec(t *testing.T) schemas.MetricSpec {
	t.Helper()
	first, err1 := units.PrecisionFromSigma(s.first)
	top, err2 := units.PrecisionFromSigma(s.top)
	delta, err3 := units.DeltaFromFloat(1e-9)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	m := testMetric("m", s.mode, 100)
	m.LadderKind, m.LadderFactor, m.First, m.Top = string(s.kind), s.factor, first, top
	m.Relative, m.Absolute, m.Confidence, m.DeltaKey = s.target.Relative, s.target.Absolute, s.target.Confidence, delta
	return m
}

func (s shape) plan(t *testing.T, m schemas.MetricSpec) *noisereduction.Plan {
	t.Helper()
	spec := noisereduction.Spec{Kind: s.kind, Factor: s.factor, First: m.First, Top: m.Top, Target: s.target}
	if s.mode == "private" {
		spec.Private = &noisereduction.Private{Contribution: uint64(m.MaxEventsPerKey), DeltaKey: m.DeltaKey}
	}
	plan, err := noisereduction.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestLadderAgreesWithTheMechanism(t *testing.T) {
	draws := 2000
	if testing.Short() {
		draws = 100
	}
	relative := noisereduction.Target{Relative: 0.05, Confidence: 0.95}
	shapes := []shape{
		{noisereduction.Adaptive, 0, 40960, 10, relative, "public"},
		{noisereduction.Adaptive, 0, 20, 10, relative, "private"},
		{noisereduction.Adaptive, 0, 1e6, 0.7, noisereduction.Target{Relative: 0.3, Absolute: 2, Confidence: 0.8}, "public"},
		{noisereduction.Adaptive, 0, 500, 3, noisereduction.Target{Absolute: 12, Confidence: 0.999}, "public"},
		{noisereduction.Adaptive, 0, 5, 3, noisereduction.Target{Confidence: 0.99}, "private"},
		{noisereduction.Geometric, 1.5, 300, 12, relative, "public"},
		{noisereduction.Geometric, 2, 333.3, 1.1, noisereduction.Target{Relative: 0.123, Absolute: 7.5, Confidence: 0.97}, "private"},
		{noisereduction.Geometric, 16, 17, 17, relative, "public"},
		{noisereduction.Geometric, 1.07, 100, 60, noisereduction.Target{Relative: 0.5, Absolute: 0.001, Confidence: 0.9}, "public"},
	}
	for i, s := range shapes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m := s.spec(t)
			plan := s.plan(t, m)
			l, err := newLadder(m)
			if err != nil {
				t.Fatal(err)
			}
			compareLadders(t, l, plan)
			passed := 0
			for n := range draws {
				count := int64(math.Exp(float64(n)/float64(draws)*math.Log(3e6))) - 1
				if s.target.Relative == 0 && s.mode == "public" && n%3 == 0 {
					count = -count // the total of a sum
				}
				id := noisereduction.Identity{Incarnation: [16]byte{byte(i)}, Key: binary.BigEndian.AppendUint64(nil, uint64(n))}
				key := noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{5})}
				want, err := plan.Release(key, id, count)
				if err != nil {
					t.Fatal(err)
				}
				got, err := l.refine(key, id, count)
				if err != nil {
					t.Fatal(err)
				}
				compareStops(t, count, got, want)
				if got.passed {
					passed++
				}
			}
			if passed < draws/8 {
				t.Errorf("only %d of %d releases passed: the case says little", passed, draws)
			}
		})
	}
}

func compareLadders(t *testing.T, l *ladder, plan *noisereduction.Plan) {
	t.Helper()
	points := plan.Ladder()
	if len(points) != len(l.points) {
		t.Fatalf("the ladder has %d points, the mechanism's %d", len(l.points), len(points))
	}
	for i, p := range points {
		if l.points[i].Cmp(p.Big()) != 0 {
			t.Fatalf("point %d is %v, the mechanism's is %v", i, l.points[i], p.Big())
		}
	}
	if l.limit == nil {
		return
	}
	if limit, _ := l.limit.Float64(); limit != plan.Threshold() {
		t.Errorf("the threshold is %v, the mechanism's is %v", limit, plan.Threshold())
	}
}

func compareStops(t *testing.T, count int64, got stop, want noisereduction.Result) {
	t.Helper()
	same := got.passed == want.Passed && got.precision.Cmp(want.Precision.Big()) == 0 && int(got.rungs) == want.Rungs &&
		got.value == want.Value && got.met == want.Met && got.low == want.Low && got.high == want.High
	if want.Passed {
		same = same && got.stddev == want.StdDev
	}
	if !same {
		t.Errorf("count %d: the reference stops at %+v, the mechanism at %+v", count, got, want)
	}
}

func TestThresholdOfTheTheoryPage(t *testing.T) {
	for _, k := range []struct {
		contribution uint32
		want         float64
	}{{1, 135.12}, {10, 144.12}} {
		m := testMetric("m", "private", 100)
		m.MaxEventsPerKey = k.contribution
		first, err := units.PrecisionFromSigma(20)
		if err != nil {
			t.Fatal(err)
		}
		delta, err := units.DeltaFromFloat(1e-11)
		if err != nil {
			t.Fatal(err)
		}
		m.First, m.DeltaKey = first, delta
		if got, _ := threshold(m).Float64(); math.Abs(got-k.want) > 0.01 {
			t.Errorf("τ at C = %d is %v, want %v", k.contribution, got, k.want)
		}
	}
}

func TestRoundHalfEven(t *testing.T) {
	for numerator, want := range map[int64]int64{-7: -2, -6: -2, -5: -1, -3: -1, -2: 0, -1: 0, 0: 0, 1: 0, 2: 0, 3: 1, 5: 1, 6: 2, 7: 2, 10: 2} {
		if got := roundHalfEven(scale(whole(0).SetInt64(numerator), -2)); got != want {
			t.Errorf("%d/4 rounds to %d, want %d", numerator, got, want)
		}
	}
}
