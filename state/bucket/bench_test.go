package bucket_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// drawn returns the noise levels of one user: σ = 100 over contributions uniform in (0, 1], seeded.
func drawn(user uint64, mechanisms int) []float64 {
	rng := rand.New(rand.NewPCG(user, 7)) // fixed seed: runs of a benchmark are compared
	s := make([]float64, mechanisms)
	for i := range s {
		s[i] = 100 / (1 - rng.Float64())
	}
	return s
}

func BenchmarkCurve(b *testing.B) {
	l := must.Have(bucket.NewGeometricLadder(100, 10000, 64))
	table := ladderTable(b, l, 1, bucket.Options{Interval: 0x1p-12, Points: 1 << 15})
	counts := table.NewCounts()
	for i := range counts {
		counts[i] = 156
	}
	curve := table.NewCurve()
	must.Have(0, curve.Set(counts))
	b.Run("Set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must.Have(0, curve.Set(counts))
		}
	})
	for name, ask := range map[string]func() (float64, error){
		"DeltaAt":    func() (float64, error) { return curve.DeltaAt(1) },
		"EpsilonAt":  func() (float64, error) { return curve.EpsilonAt(1e-6) },
		"SmallestMu": func() (float64, error) { return curve.SmallestMu(1e-10) },
		"CoveredBy": func() (float64, error) {
			if ok, err := curve.CoveredBy(1, 1e-10); err != nil || !ok {
				return 0, fmt.Errorf("covered: %v, %w", ok, err)
			}
			return 0, nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Have(ask())
			}
		})
	}
}

// BenchmarkIndividualLosses measures ε at δ = 1e-6 of users with 10^4 heterogeneous mechanisms
// each. "buckets" does 10^4 users in full, the table's making included. "alone" composes every
// single mechanism of one user with package pld, on the same interval and without rounding σ, for a
// sample of mechanisms; ms/user is extrapolated linearly to 10^4 mechanisms (discretising and
// transforming each is what costs), and 10^4 users are 10^4 times that.
func BenchmarkIndividualLosses(b *testing.B) {
	const users, mechanisms, sample, interval = 10_000, 10_000, 400, 0x1p-12
	b.Run("buckets", func(b *testing.B) {
		for b.Loop() {
			l := must.Have(bucket.NewGeometricLadder(100, 10000, 64))
			table := ladderTable(b, l, 1, bucket.Options{Interval: interval, Points: 1 << 15})
			curve, largest := table.NewCurve(), 0.0
			// Drawing the noise levels is not accounting; it is left out.
			var accounting time.Duration
			for user := range uint64(users) {
				sigmas := drawn(user, mechanisms)
				start := time.Now()
				counts := table.NewCounts()
				for _, s := range sigmas {
					bucket := must.Have(l.Bucket(s))
					must.Have(0, counts.Add(bucket))
				}
				must.Have(0, curve.Set(counts))
				largest = math.Max(largest, must.Have(curve.EpsilonAt(1e-6)))
				accounting += time.Since(start)
			}
			b.ReportMetric(accounting.Seconds()*1000/users, "ms/user")
			b.ReportMetric(largest, "epsilon")
		}
	})
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			start := time.Now()
			var parts []*pld.Distribution
			for _, s := range drawn(0, sample) {
				d := must.Have(pld.New(pld.Gaussian{Sigma: s}, pld.Options{Interval: interval}))
				parts = append(parts, d)
			}
			composed := must.Have(parts[0].Compose(parts[1:]...))
			must.Have(composed.EpsilonAt(1e-6))
			b.ReportMetric(time.Since(start).Seconds()*1000*mechanisms/sample, "ms/user")
		}
	})
}
