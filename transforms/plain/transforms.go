package plain

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/tollgate-dp/tollgate/transforms/hook"
)

// Transforms holds valid Settings and a hook for their Secrets. It is read-only.
type Transforms struct {
	settings Settings
	secrets  hook.Hook[Secrets]
}

// New returns Transforms after checking the settings. Its errors wrap ErrSettings. Workers open the
// secrets when they set up a DoFn.
func New(s Settings, secrets hook.Hook[Secrets]) (*Transforms, error) {
	metrics, err := s.compile()
	if err != nil {
		return nil, err
	}
	for i := range metrics {
		if _, err := metrics[i].plan(); err != nil {
			return nil, err
		}
	}
	if secrets == nil {
		return nil, invalid("no secrets")
	}
	return &Transforms{settings: s, secrets: secrets}, nil
}

// part is embedded in DoFns. It carries the contents of the Transforms to the workers.
type part struct {
	Settings Settings
	Secrets  hook.Field[Secrets]
}

func (t *Transforms) part() part { return part{t.settings, hook.NewField(t.secrets)} }

func (p *part) open(ctx context.Context) (*Secrets, error) {
	s, err := p.Secrets.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &s, s.check()
}

// Teardown closes the hook.
func (p *part) Teardown() error { return p.Secrets.Close() }

// lastOf returns the last instant of the window that ends at end, the event time of its elements.
func lastOf(end int64) beam.EventTime { return mtime.FromMilliseconds(end - 1) }

func inWindows(s beam.Scope, settings *Settings, col beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewFixedWindows(settings.Window), col)
}

// inGlobal moves all elements to the global window: an account must outlive windows, but an engine
// keeps keyed state per window.
func inGlobal(s beam.Scope, col beam.PCollection) beam.PCollection {
	return beam.WindowInto(s, window.NewGlobalWindows(), col)
}
