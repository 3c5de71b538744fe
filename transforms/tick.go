package transforms

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
)

// tickLength is a tick in Beam's time: whole seconds, because some runners cut watermarks to them.
const tickLength = time.Second

// tickStart returns the event time of everything that belongs to a tick. Ticks count from 1.
func tickStart(tick int64) beam.EventTime {
	return mtime.FromMilliseconds(tick * tickLength.Milliseconds())
}

// inTicks groups elements by their tick.
func inTicks(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewFixedWindows(tickLength), col)
}

// inGlobal leaves the ticks: keyed state must not be cut by windows, and a
// bundle's end can emit with explicit times there only.
func inGlobal(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewGlobalWindows(), col)
}
