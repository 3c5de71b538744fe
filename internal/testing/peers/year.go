package main

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/differential-privacy/go/v3/noise"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/year"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
)

// divideYear counts days of the experiment year with Privacy on Beam: a job for every day, each
// with its part of a promise for the year and the Gaussian noise of exact composition. The error of
// its counts stands beside the one that the experiment says.
func divideYear(ctx context.Context) (table, error) {
	silence()
	beam.Init()
	const days = 365
	sigma, err := year.Sigma(year.KeysPerUser, days)
	if err != nil {
		return table{}, err
	}
	said := sigma * math.Sqrt(2/math.Pi)
	t := table{
		title:   "Days of the experiment year by Privacy on Beam, each with its part of a promise for the year",
		columns: []string{"population", "day", "events", "Privacy on Beam: error", "two standard errors", "as the experiment says"},
	}
	for _, p := range year.Populations() {
		all := p.Events(experiment.Options{Seed: 1}.Random(p.Name), p.Users, days)
		for _, day := range []int{1, 10, 100, days} {
			shaped.events, shaped.window = shaped.events[:0], 1
			truth := make(map[string]float64, year.Keys)
			for _, e := range all {
				if e.Day == day-1 {
					one := shapes.Event{User: fmt.Sprint(e.User), Key: year.KeyName(e.Key), At: e.At()}
					shaped.events = append(shaped.events, one)
					truth[partitionOf(one)]++
				}
			}
			const jobs = 20
			wrong := 0.0
			for range jobs {
				if err := dayDivided(ctx, truth, sigma); err != nil {
					return table{}, fmt.Errorf("running Privacy on Beam on day %d: %w", day, err)
				}
				for _, c := range collected.counts {
					wrong += math.Abs(c.value-truth[c.key]) / jobs
				}
			}
			n := float64(len(shaped.events))
			deviation := 2 * sigma * math.Sqrt((1-2/math.Pi)*year.Keys/float64(jobs))
			t.rows = append(t.rows, []any{p.Name, day, len(shaped.events), tenths(wrong / n), "± " + tenths(deviation/n), tenths(year.Keys * said / n)})
		}
	}
	return t, nil
}

// dayDivided counts shaped.events with Gaussian noise of a deviation. Privacy on Beam takes (ε, δ):
// with a δ that is small beside the promise's, the ε that gives this noise.
func dayDivided(ctx context.Context, truth map[string]float64, sigma float64) error {
	const delta = year.Delta / 1000
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; noise.SigmaForGaussian(year.KeysPerUser, 1, middle, delta) > sigma {
			low = middle
		} else {
			high = middle
		}
	}
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{AggregationEpsilon: high, AggregationDelta: delta})
	if err != nil {
		return err
	}
	var public []string
	for key := range truth {
		public = append(public, key)
	}
	p, s := beam.NewPipelineWithRoot()
	users := beam.ParDo(s, &shapedFn{}, beam.Impulse(s))
	counts := pbeam.Count(s, pbeam.MakePrivate(s, users, spec), pbeam.CountParams{
		NoiseKind: pbeam.GaussianNoise{}, MaxPartitionsContributed: year.KeysPerUser, MaxValue: 1,
		PublicPartitions: public, AllowNegativeOutputs: true,
	})
	beam.ParDo0(s, &privateFn{}, counts)
	collected.counts = nil
	return runDirect(ctx, p)
}
