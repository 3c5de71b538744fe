package transforms

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
)

// tickLength is a tick in Beam's time: one second, because some runners round watermarks to that.
const tickLength = time.Second

// tickStart returns the event time of all elements of a tick. Ticks count from 1.
func tickStart(tick int64) beam.EventTime {
	return mtime.FromMilliseconds(tick * tickLength.Milliseconds())
}

// inTicks groups elements by their tick.
func inTicks(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewFixedWindows(tickLength), col)
}

// inGlobal moves elements from ticks to the global window. Keyed state must not be divided by
// windows, and only in the global window can FinishBundle emit with explicit times.
func inGlobal(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewGlobalWindows(), col)
}
