package prism

import (
	"context"
	"log/slog"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/tollgate-dp/tollgate/internal/hooks/localrunner"
)

// one allows one pipeline per process: prism's job options are global.
var one sync.Mutex

var silence = sync.OnceFunc(func() {
	beam.Init() // makes Beam's logger the process's
	beamlog.SetLogger(quiet{})
	slog.SetDefault(slog.New(slog.DiscardHandler))
})

// quiet drops what Beam logs through its own interface.
type quiet struct{}

// Log implements Beam's logger.
func (quiet) Log(context.Context, beamlog.Severity, int, string) {}

// Execute is a pipeline.Engine. A job that has begun goes on until its source ends it or a stage
// fails: ctx does not cancel it, pipeline.Run closes its connections.
func Execute(ctx context.Context, p *beam.Pipeline) error {
	one.Lock()
	defer one.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	silence()
	localrunner.Keep()
	_, err := prism.Execute(context.WithoutCancel(ctx), p)
	return err
}
