package bucket_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// drawn returns the noise levels of one user: σ = 100 over contributions uniform in
// (0, 1], seeded.
func drawn(user uint64, mechanisms int) []float64 {
	rng := rand.New(rand.NewPCG(user, 7)) // fixed seed: runs of a benchmark are compared
	s := make([]float64, mechanisms)
	for i := range s {
		s[i] = 100 / (1 - rng.Float64())
	}
	return s
}

func BenchmarkCount(b *testing.B) {
	l := ladder(b, 100, 10000, 64)
	for _, before := range []int{10, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("after %d", before), func(b *testing.B) {
			counts := make(bucket.Counts, l.Len())
			sigmas := drawn(1, 1024)
			add := func(i int) {
				at, err := l.Bucket(sigmas[i%len(sigmas)])
				if err != nil {
					b.Fatal(err)
				}
				if err := counts.Add(at); err != nil {
					b.Fatal(err)
				}
			}
			for i := range before {
				add(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				add(i)
			}
		})
	}
}

// BenchmarkFilterSpend measures one update of a filter that has accepted so many
// before: where Σ σ̃^-2 decides, and where the curve does. ResumeFilter makes the
// history in no time. No update is refused.
func BenchmarkFilterSpend(b *testing.B) {
	histories := []int{10, 1000, 1_000_000}
	b.Run("noise decides", func(b *testing.B) {
		l := ladder(b, 2000, 20000, 16)
		table := ladderTable(b, l, 1, bucket.Options{Interval: 0x1p-12, Points: 1 << 16})
		gate := newGate(b, table, bucket.Budget{Mu: 1, Slack: 1e-8})
		for _, before := range histories {
			b.Run(fmt.Sprintf("after %d", before), func(b *testing.B) {
				counts := table.NewCounts()
				for i := range before {
					counts[i%len(counts)]++
				}
				benchmarkSpend(b, gate, l, counts, 0)
			})
		}
	})
	b.Run("curve decides", func(b *testing.B) {
		l := ladder(b, 1, 64, 16)
		table := ladderTable(b, l, 0.01, bucket.Options{Interval: 0x1p-12, Points: 1 << 16})
		gate := newGate(b, table, bucket.Budget{Mu: 1.5, Slack: 1e-7})
		for _, before := range histories {
			b.Run(fmt.Sprintf("after %d", before), func(b *testing.B) {
				// Ten at little noise are beyond what Σ σ̃^-2 allows: from there on sampling is
				// what makes a history fit. The rest goes where even 10^6 lose little.
				counts, square := table.NewCounts(), 0.0
				for i := range before {
					level := i % 5
					if i >= 10 {
						level = 11 + i%5
					}
					counts[level]++
				}
				for i, n := range counts {
					square += float64(n) / (l.Sigma(i) * l.Sigma(i))
				}
				if square <= gate.Budget().Mu*gate.Budget().Mu {
					b.Fatalf("Σ σ̃^-2 is %v: the curve is not asked", square)
				}
				benchmarkSpend(b, gate, l, counts, 11)
			})
		}
	})
}

// benchmarkSpend spends at the levels of a ladder from one on, in turn. The first
// update, which makes the buffers of the gate's curve, is not measured.
func benchmarkSpend(b *testing.B, gate *bucket.Gate, l bucket.Ladder, counts bucket.Counts, from int) {
	f, err := bucket.ResumeFilter(gate, l, counts)
	if err != nil {
		b.Fatal(err)
	}
	spend := func(i int) {
		if err := f.Spend(bucket.Noise{Sigma: l.Sigma(from + i%(l.Len()-from))}); err != nil {
			b.Fatalf("after %d of %v: %v", i, counts, err)
		}
	}
	spend(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		spend(i)
	}
}

func newGate(b *testing.B, table *bucket.Table, budget bucket.Budget) *bucket.Gate {
	b.Helper()
	gate, err := bucket.NewGate(table, budget)
	if err != nil {
		b.Fatal(err)
	}
	return gate
}

func BenchmarkCurve(b *testing.B) {
	l := ladder(b, 100, 10000, 64)
	table := ladderTable(b, l, 1, bucket.Options{Interval: 0x1p-12, Points: 1 << 15})
	counts := table.NewCounts()
	for i := range counts {
		counts[i] = 156
	}
	curve := table.NewCurve()
	if err := curve.Set(counts); err != nil {
		b.Fatal(err)
	}
	b.Run("Set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := curve.Set(counts); err != nil {
				b.Fatal(err)
			}
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
				if _, err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIndividualLosses measures ε at δ = 1e-6 of users with 10^4 heterogeneous
// mechanisms each. "buckets" does 10^4 users in full, the table's making included.
// "alone" composes every single mechanism of one user with package pld, on the
// same interval and without rounding σ, for a sample of mechanisms; ms/user is
// extrapolated linearly to 10^4 mechanisms (discretising and transforming each is
// what costs), and 10^4 users are 10^4 times that.
func BenchmarkIndividualLosses(b *testing.B) {
	const users, mechanisms, sample, interval = 10_000, 10_000, 400, 0x1p-12
	b.Run("buckets", func(b *testing.B) {
		for b.Loop() {
			l := ladder(b, 100, 10000, 64)
			table := ladderTable(b, l, 1, bucket.Options{Interval: interval, Points: 1 << 15})
			curve, largest := table.NewCurve(), 0.0
			// Drawing the noise levels is not accounting; it is left out.
			var accounting time.Duration
			for user := range uint64(users) {
				sigmas := drawn(user, mechanisms)
				start := time.Now()
				counts := table.NewCounts()
				for _, s := range sigmas {
					at, err := l.Bucket(s)
					if err != nil {
						b.Fatal(err)
					}
					if err := counts.Add(at); err != nil {
						b.Fatal(err)
					}
				}
				if err := curve.Set(counts); err != nil {
					b.Fatal(err)
				}
				largest = math.Max(largest, epsilonAt(b, curve, 1e-6))
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
				d, err := pld.New(pld.Gaussian{Sigma: s}, pld.Options{Interval: interval})
				if err != nil {
					b.Fatal(err)
				}
				parts = append(parts, d)
			}
			composed, err := parts[0].Compose(parts[1:]...)
			if err != nil {
				b.Fatal(err)
			}
			epsilonAt(b, composed, 1e-6)
			b.ReportMetric(time.Since(start).Seconds()*1000*mechanisms/sample, "ms/user")
		}
	})
}
