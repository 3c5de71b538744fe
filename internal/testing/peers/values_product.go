package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/testing/shapes"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// productSetting is a setting of this product.
type productSetting struct {
	keys, events, windows int     // bounds, and last_at_least
	most                  int     // values are clamped to from 0 to this
	target                float64 // absolute, of quantiles in ranks; 0: none
}

func (s productSetting) String() string {
	text := fmt.Sprintf("%d keys × %d, %d windows, to %d", s.keys, s.events, s.windows, s.most)
	if s.target > 0 {
		text += fmt.Sprintf(", ± %g", s.target)
	}
	return text
}

func (s productSetting) settings(kind string) demo.Settings {
	settings := demo.Settings{
		Epsilon: epsilon, Delta: delta, Accountant: "gdp", Window: valueWindow, Target: noisereduction.Target{Absolute: s.target, Confidence: .95},
		MaxKeysPerUser: s.keys, MaxEventsPerKey: s.events, LastAtLeast: s.windows, PublicKeys: publicKeys(), Kind: kind, Max: int64(s.most),
	}
	if kind == "quantiles" {
		settings.Ranks = valueRanks
	}
	return settings
}

// sigma is the least standard deviation of the noise of a cell's number of events; of quantiles, of
// a node of their tree.
func (s productSetting) sigma(kind string) (float64, error) {
	d, err := s.settings(kind).Compile()
	if err != nil {
		return 0, err
	}
	top := d.Metrics[0].Spec.Top.Float()
	if metrickind.Of(kind).Tree != nil {
		top *= metrickind.NodesFiner
	}
	return 1 / math.Sqrt(top), nil
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
	out, names := released{}, []string{demo.MetricName}
	if kind == "quantiles" {
		names = nil
		for _, rank := range valueRanks {
			names = append(names, fmt.Sprintf("%s.p%.0f", demo.MetricName, 100*rank))
		}
	}
	result, err := demo.Run(ctx, settings, source, secrets, demo.Options{OnTurn: func(t demo.Turn) error {
		for i := range t.Releases {
			r := &t.Releases[i]
			at := slices.Index(names, r.Metric)
			if at < 0 {
				continue // the number of events beside quantiles
			}
			cell := fmt.Sprint(r.WindowStart/shaped.window, "|", r.Key)
			if out[cell] == nil {
				out[cell] = make([]float64, len(names))
			}
			out[cell][at] = r.Count()
		}
		return nil
	}})
	if err != nil {
		return nil, pipeline.MetricTallies{}, err
	}
	return out, result.Tallies.Metrics[0], nil
}
