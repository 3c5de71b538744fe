package publishing

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// NewReleaser returns RELEASE and PUBLISH for a deployment, in the generation in force when control
// was opened. When another writer has acquired a partition of counts, it calls lost with the
// partition's epoch. The result implements io.Closer.
func NewReleaser(client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment, turns *calendar.Turns,
	lost func(epoch int64)) (transforms.Releaser, error) {
	h := control.Header
	return release.New(release.Options{
		Metrics: d.Specs(), Plans: d.Plans(), Ending: turns.Ending, Bounds: turns.Bounds, Incarnation: h.Incarnation,
		Generation: h.Generation,
		Noise:      d.Config.Keys.Noise, Counts: h.Counts, Publisher: newPublisher(client, control, d), Lost: lost,
	})
}
