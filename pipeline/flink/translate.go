package flink

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"google.golang.org/protobuf/proto"
)

// settings configure the Flink job. Exchanges between tasks do not buffer. A failed task restarts
// after half a second, at most 30 times in two minutes.
var settings = map[string]string{
	"execution.buffer-timeout.interval":                       "0 ms",
	"restart-strategy.type":                                   "failure-rate",
	"restart-strategy.failure-rate.max-failures-per-interval": "30",
	"restart-strategy.failure-rate.failure-rate-interval":     "2 min",
	"restart-strategy.failure-rate.delay":                     "500 ms",
	"state.backend.type":                                      "hashmap",
}

// jobOptions returns Beam's options for the job. A bundle contains only one element, which is
// passed on at once. This suffices, because a turn has one element for each strand. If bundles
// ended by time instead, even an idle task would run a timer.
func jobOptions(name string, parallelism int) map[string]any {
	return map[string]any{
		"beam:option:go_options:v1":                     runtime.RawOptions{},
		"beam:option:app_name:v1":                       "tollgate",
		"beam:option:job_name:v1":                       name,
		"beam:option:flink_master:v1":                   "[auto]",
		"beam:option:streaming:v1":                      true,
		"beam:option:parallelism:v1":                    parallelism,
		"beam:option:experiments:v1":                    []string{"beam_fn_api"},
		"beam:option:max_bundle_size:v1":                1,
		"beam:option:max_bundle_time_mills:v1":          1000,
		"beam:option:shutdown_sources_after_idle_ms:v1": int64(0),
	}
}

var beamOnce sync.Once

// jarOf returns the jar to upload, which contains the pipeline and the options of the job.
func jarOf(ctx context.Context, p *beam.Pipeline, o *Options, name string) ([]byte, error) {
	beamOnce.Do(beam.Init)
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	process, err := json.Marshal(map[string]any{"command": o.Command, "env": o.Env})
	if err != nil {
		return nil, err
	}
	env, err := graphx.CreateEnvironment(ctx, "beam:env:process:v1", func(context.Context) string {
		return string(process)
	})
	if err != nil {
		return nil, err
	}
	translated, err := graphx.Marshal(edges, &graphx.Options{Environment: env})
	if err != nil {
		return nil, err
	}
	for _, e := range translated.GetComponents().GetEnvironments() {
		e.Dependencies = nil // the program is already on the workers' machines
	}
	data, err := proto.Marshal(translated)
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(jobOptions(name, o.Parallelism))
	if err != nil {
		return nil, err
	}
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	for _, file := range []struct {
		name string
		data []byte
	}{
		{"META-INF/MANIFEST.MF", []byte("Manifest-Version: 1.0\n")},
		{"tollgate/pipeline.pb", data}, {"tollgate/options.json", options},
	} {
		w, err := z.Create(file.name)
		if err == nil {
			_, err = w.Write(file.data)
		}
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", file.name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return jar.Bytes(), nil
}
