package repeated

import (
	"runtime"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// Small holds the options for experiments in tests.
var Small = experiment.Options{Seed: 1, Size: experiment.Small}

// File runs the experiment, compares its text with the golden file at path, and returns its result.
func File(t testing.TB, path string, e experiment.Experiment, o experiment.Options) *experiment.Result {
	t.Helper()
	result := find(t, e, o)
	golden.File(t, path, text(t, e, o, result))
	return result
}

// OnOneProcessor fails the test unless the experiment gives the same result on one processor.
func OnOneProcessor(t testing.TB, e experiment.Experiment, o experiment.Options, result *experiment.Result) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if text(t, e, o, find(t, e, o)) != text(t, e, o, result) {
		t.Errorf("%s: on one processor, the result is another one", e.Name)
	}
}

func find(t testing.TB, e experiment.Experiment, o experiment.Options) *experiment.Result {
	t.Helper()
	result, err := e.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func text(t testing.TB, e experiment.Experiment, o experiment.Options, result *experiment.Result) string {
	t.Helper()
	var b strings.Builder
	if err := e.WriteText(&b, o, result); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
