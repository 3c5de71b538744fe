package transforms

import (
	"context"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/tollgate-dp/tollgate/transforms/direct"
)

// Engine runs a pipeline to its end.
type Engine func(context.Context, *beam.Pipeline) (beam.PipelineResult, error)

// OnEngines runs a test on both engines that run in one process.
func OnEngines(t *testing.T, test func(t *testing.T, execute Engine)) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { test(t, direct.Execute) })
	t.Run("prism", func(t *testing.T) { test(t, prism.Execute) })
}
