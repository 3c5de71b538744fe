package plain_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/plain"
)

func init() {
	beam.RegisterDoFn(&visits{})
	register.Function1x0(show)
}

// visits emits an event of each user: a visit to a page.
type visits struct{ Users, Millis int64 }

func (v *visits) ProcessElement(_ []byte, emit func(beam.EventTime, string, string)) {
	for i := range v.Users {
		emit(mtime.FromMilliseconds(v.Millis+i), fmt.Sprint("user ", i), "/")
	}
}

func show(r plain.Released) {
	fmt.Printf("%s %s %s: %.0f ± %.0f\n", time.UnixMilli(r.WindowStart).UTC().Format(time.RFC3339), r.Metric, r.Key,
		r.Value, r.StdDev)
}

// settings promise (1, 1e-6) to every user, over everything that is counted.
func settings() (plain.Settings, error) {
	budget, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 0)
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	return plain.Settings{
		Incarnation: [16]byte{0x5e, 0x1f}, // 16 random bytes, drawn once
		Budget:      budget, Window: 24 * time.Hour, From: day, To: day.AddDate(0, 0, 2),
		Metrics: []plain.Metric{{
			Name: "views", Kind: metrickind.Events, MaxKeysPerUser: 1, MaxEventsPerKey: 1,
			Sigma: 50, PublicKeys: []string{"/"},
		}},
	}, err
}

// secrets locates the secrets for workers.
func secrets() (plain.Environment, error) {
	e := plain.Environment{UserHash: "EXAMPLE_USER_HASH", Noise: "EXAMPLE_NOISE", NoiseID: "2026-a"}
	for name, digit := range map[string]string{e.UserHash: "1", e.Noise: "2"} {
		if err := os.Setenv(name, strings.Repeat(digit, 64)); err != nil { // yours: openssl rand -hex 32
			return e, err
		}
	}
	return e, nil
}

func runExample(filter func(f *plain.Transforms, s beam.Scope, events beam.PCollection) (admitted,
	rejected beam.PCollection)) error {
	settings, err := settings()
	if err != nil {
		return err
	}
	secrets, err := secrets()
	if err != nil {
		return err
	}
	dp, err := plain.New(settings, secrets)
	if err != nil {
		return err
	}
	p, s := beam.NewPipelineWithRoot()
	events := beam.ParDo(s, &visits{Users: 2000, Millis: settings.From.UnixMilli()}, beam.Impulse(s))
	admitted, _ := filter(dp, s, events)
	beam.ParDo0(s, show, dp.Release(s, dp.Count(s, admitted)))
	_, err = prism.Execute(context.Background(), p)
	return err
}

// On a stream: the public key appears in every window, even in one without users.
func ExampleTransforms_Filter() {
	err := runExample((*plain.Transforms).Filter)
	if err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// 2026-05-01T00:00:00Z views /: 2081 ± 50
	// 2026-05-02T00:00:00Z views /: 39 ± 50
}

// On bounded input, without state and timers: the same numbers.
func ExampleTransforms_FilterBounded() {
	err := runExample((*plain.Transforms).FilterBounded)
	if err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// 2026-05-01T00:00:00Z views /: 2081 ± 50
	// 2026-05-02T00:00:00Z views /: 39 ± 50
}
