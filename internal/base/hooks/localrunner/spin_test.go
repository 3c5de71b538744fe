package localrunner_test

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

func init() { beam.RegisterDoFn(&watchFn{}) }

// Observations of watchFn: prism's loop over its bundle ran, or waited.
var loopRan, loopWaited atomic.Bool

// watchFn looks at prism's loop over its own bundle, in a stage without an output, until that waits
// or half a second has gone by.
type watchFn struct{}

func (*watchFn) ProcessElement([]byte) {
	for range 100 {
		switch loopState() {
		case "":
		case "select":
			loopWaited.Store(true)
			return
		default:
			loopRan.Store(true)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// loopState returns the state of the goroutine in prism's loop over a bundle, as named by a stack
// dump; "" if there is none, or if it is in a call.
func loopState() string {
	dump := make([]byte, 4<<20)
	for _, stack := range bytes.Split(dump[:runtime.Stack(dump, true)], []byte("\n\n")) {
		head, calls, _ := bytes.Cut(stack, []byte("\n"))
		if !bytes.HasPrefix(calls,
			[]byte("github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism/internal.(*stage).Execute(")) {
			continue
		}
		_, state, _ := bytes.Cut(head, []byte("["))
		state, _, _ = bytes.Cut(state, []byte("]"))
		state, _, _ = bytes.Cut(state, []byte(",")) // how long it has waited
		return string(state)
	}
	return ""
}

// TestPrismStillSpins notices when a newer Beam no longer uses a core while the bundle of a stage
// without an output is under way (docs/prism.md). A loop that spins always has a channel to receive
// from, so that it never waits in its select, and one that does not spin waits there within
// a moment, on any machine: neither depends on the load.
func TestPrismStillSpins(t *testing.T) {
	ptest.BuildAndRun(t, func(s beam.Scope) { beam.ParDo0(s, &watchFn{}, beam.Impulse(s)) })
	switch {
	case loopWaited.Load():
		t.Error("prism waits for the answer to a bundle and does not spin any more: take this test and the first " +
			"section of docs/prism.md away")
	case !loopRan.Load():
		t.Error("prism's loop over a bundle is not in stage.Execute any more: look whether it still spins, and see " +
			"docs/prism.md")
	}
}
