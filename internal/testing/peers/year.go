package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/app/experiment/year"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
)

// divideYear counts days of the experiment year with Privacy on Beam: a job for every day, each
// with its part of a promise for the year. The error of its counts stands beside the one that the
// experiment says that divided noise has.
func divideYear(ctx context.Context, out io.Writer) error {
	silence()
	beam.Init()
	const days = 365
	said, err := year.Divide(days)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "population\tday\tevents\tPrivacy on Beam: error\ttwo standard errors\tas the experiment says") //nolint:errcheck // Flush tells
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
				if err := dayDivided(ctx, truth, days); err != nil {
					return fmt.Errorf("running Privacy on Beam on day %d: %w", day, err)
				}
				for _, c := range collected.counts {
					wrong += math.Abs(c.value-truth[c.key]) / jobs
				}
			}
			n := float64(len(shaped.events))
			// The size of Laplace noise has its mean for a standard deviation.
			deviation := 2 * said[0].Error * math.Sqrt(year.Keys/float64(jobs))
			fmt.Fprintf(w, "%s\t%d\t%.0f\t%.1f %%\t± %.1f %%\t%.1f %%\n", p.Name, day, n, 100*wrong/n, 100*deviation/n, 100*year.Keys*said[0].Error/n) //nolint:errcheck // Flush tells
		}
	}
	return w.Flush()
}

// dayDivided counts shaped.events with one of so many parts of the budget.
func dayDivided(ctx context.Context, truth map[string]float64, parts float64) error {
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{AggregationEpsilon: year.Epsilon / parts})
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
		NoiseKind: pbeam.LaplaceNoise{}, MaxPartitionsContributed: year.KeysPerUser, MaxValue: 1,
		PublicPartitions: public, AllowNegativeOutputs: true,
	})
	beam.ParDo0(s, &privateFn{}, counts)
	collected.counts = nil
	return runDirect(ctx, p)
}
