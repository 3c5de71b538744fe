package publishing

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// NewReleaser returns RELEASE and PUBLISH for a deployment, in the generation that was in force
// when control was opened. It calls lost with the epoch of a partition of counts that another
// producer has acquired. The result implements io.Closer.
func NewReleaser(client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment, turns *calendar.Turns,
	lost func(epoch int64)) (transforms.Releaser, error) {
	h := control.Header
	return release.New(release.Options{
		Metrics: d.Specs(), Plans: d.Plans(), Ending: turns.Ending, Bounds: turns.Bounds, Incarnation: h.Incarnation,
		Generation: h.Generation,
		Noise:      d.Config.Keys.Noise, Counts: h.Counts, Publisher: newPublisher(client, control, d), Lost: lost,
	})
}
