package pipeline

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms"
)

// Engine runs a Beam pipeline to its end. If ctx is cancelled, an engine may return at once, or
// when a stage fails because Run has closed the connections.
type Engine func(ctx context.Context, p *beam.Pipeline) error

// Direct is the engine that runs a pipeline in this process: [transforms.Direct].
func Direct(ctx context.Context, p *beam.Pipeline) error { return transforms.Direct(ctx, p) }
