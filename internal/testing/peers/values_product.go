package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// productSetting is a setting of this product.
type productSetting struct {
	keys, events, windows int     // bounds, and last_at_least
	most                  int     // values are clamped to from 0 to this
	target                float64 // absolute; 0: none
}

func (s productSetting) String() string {
	text := fmt.Sprintf("%d keys × %d, %d windows, to %d", s.keys, s.events, s.windows, s.most)
	if s.target > 0 {
		text += fmt.Sprintf(", ± %g", s.target)
	}
	return text
}

func (s productSetting) settings(kind string) demo.Settings {
	return demo.Settings{
		Epsilon: epsilon, Delta: delta, Accountant: "gdp", Window: valueWindow, Target: noisereduction.Target{Absolute: s.target, Confidence: .95},
		MaxKeysPerUser: s.keys, MaxEventsPerKey: s.events, LastAtLeast: s.windows, PublicKeys: publicKeys(), Kind: kind, Max: int64(s.most),
	}
}

// sigma is the least standard deviation of the noise of a cell's number of events.
func (s productSetting) sigma(kind string) (float64, error) {
	d, err := s.settings(kind).Compile()
	if err != nil {
		return 0, err
	}
	return 1 / math.Sqrt(d.Metrics[0].Spec.Top.Float()), nil
}

// run publishes values of a kind, and returns them with its tallies of events.
func (s productSetting) run(ctx context.Context, d *valueData, dir, kind string, noiseKey byte) (released, pipeline.MetricTallies, error) {
	source, err := shapes.Source(dir, shapes.Shape{Name: "values", Window: valueWindow}, d.events, "value")
	if err != nil {
		return nil, pipeline.MetricTallies{}, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	settings := s.settings(kind)
	secrets, err := demo.Derive(noisereduction.NoiseKey{ID: "peers", Secret: secret.New(sha256.Sum256([]byte{noiseKey}))}, settings, source, [32]byte{})
	if err != nil {
		return nil, pipeline.MetricTallies{}, err
	}
	out := released{}
	result, err := demo.Run(ctx, settings, source, secrets, demo.Options{OnTurn: func(t demo.Turn) error {
		for i := range t.Releases {
			r := &t.Releases[i]
			out[fmt.Sprint(r.WindowStart/shaped.window, "|", r.Key)] = []float64{r.Count()}
		}
		return nil
	}})
	if err != nil {
		return nil, pipeline.MetricTallies{}, err
	}
	return out, result.Tallies.Metrics[0], nil
}
