package flink

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

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
	err := engine(t.Context(), p, pipeline.Job{Name: "tollgate shop", Failing: func(cause string) error {
		return errors.New(cause)
	}})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the engine returned %v", err)
	}
	jar := must.Have(zip.NewReader(bytes.NewReader(uploaded), int64(len(uploaded))))
	var all strings.Builder
	for _, f := range jar.File {
		content := must.Have(jar.Open(f.Name))
		must.Have(io.Copy(&all, content))
	}
	for _, part := range []string{"/opt/tollgate-worker", `"beam:option:job_name:v1":"tollgate shop"`,
		`"beam:option:parallelism:v1":2`} {
		if !strings.Contains(all.String(), part) {
			t.Errorf("the upload does not contain %s", part)
		}
	}
}
