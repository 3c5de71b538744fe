package flink

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// What Flink gives a program tells a worker from a program that a user has called.
func TestAWorkerIsKnownByWhatFlinkGivesIt(t *testing.T) {
	given := []string{"--id=1-1", "--logging_endpoint=localhost:1", "--provision_endpoint=localhost:2", "--control_endpoint=localhost:3"}
	if !IsWorker(given) {
		t.Errorf("%v are not those of a worker", given)
	}
	for _, args := range [][]string{nil, {"worker"}, given[:2], given[2:]} {
		if IsWorker(args) {
			t.Errorf("%v are those of a worker", args)
		}
		if err := Worker(t.Context(), args); err == nil || !strings.Contains(err.Error(), "a TaskManager of Flink does") {
			t.Errorf("Worker(%v) = %v", args, err)
		}
	}
}

// kept keeps what is written to Beam's log.
type kept struct{ lines []string }

func (k *kept) Log(_ context.Context, severity beamlog.Severity, _ int, line string) {
	k.lines = append(k.lines, map[beamlog.Severity]string{beamlog.SevInfo: "info ", beamlog.SevWarn: "warn ", beamlog.SevError: "error "}[severity]+line)
}

// A worker's lines are whole in Beam's log, which goes to the TaskManager.
func TestLinesOfAWorkerStandInBeamsLog(t *testing.T) {
	log := &kept{}
	beamlog.SetLogger(log)
	t.Cleanup(func() { beamlog.SetLogger(&beamlog.Standard{}) })
	one := NewLogger().With("run", 3)
	group := one.WithGroup("kafka").With("topic", "counts")
	one.Debug("not written")
	one.Info("began")
	group.Warn("slow", "partition", 7)
	one.Error("ended", "why", "no broker")
	want := []string{"info began run=3", "warn slow run=3 kafka.topic=counts kafka.partition=7", "error ended run=3 why=no broker"}
	if !slices.Equal(log.lines, want) {
		t.Errorf("Beam's log has %q, want %q", log.lines, want)
	}
}

// The engine uploads the pipeline with the program of its workers, and returns what Flink refuses.
func TestTheEngineUploadsThePipelineAndItsProgram(t *testing.T) {
	var uploaded []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/overview":
			_, _ = w.Write([]byte(`{"flink-version": "1.19.0", "slots-total": 2, "slots-available": 2}`))
		case "/jobs/overview":
			_, _ = w.Write([]byte(`{"jobs": []}`))
		case "/jars/upload":
			file, _, err := r.FormFile("jarfile")
			if err == nil {
				uploaded, err = io.ReadAll(file)
			}
			if err != nil {
				t.Errorf("the upload: %v", err)
			}
			_, _ = w.Write([]byte(`{"filename": "/tmp/flink/tollgate.jar", "status": "success"}`))
		default:
			http.Error(w, `{"errors": ["the disk is full"]}`, http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	p, s := beam.NewPipelineWithRoot()
	beam.Impulse(s)
	engine := Engine(Options{URL: secret.NewURL(server.URL), Parallelism: 2, Command: "/opt/tollgate-worker"})
	err := engine(t.Context(), p, pipeline.Job{Name: "tollgate shop", Failing: func(cause string) error { return errors.New(cause) }})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the engine returned %v", err)
	}
	jar, err := zip.NewReader(bytes.NewReader(uploaded), int64(len(uploaded)))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range jar.File {
		content, err := jar.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&all, content); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"/opt/tollgate-worker", `"beam:option:job_name:v1":"tollgate shop"`, `"beam:option:parallelism:v1":2`} {
		if !strings.Contains(all.String(), part) {
			t.Errorf("the upload does not contain %s", part)
		}
	}
}
