package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/pipeline/published"
	"github.com/tollgate-dp/tollgate/schemas"
)

// What has been published, under the names that most programs need. Package published has the same
// without an engine.
type (
	// Published is what counts holds of a turn, or of the turns of a span.
	Published = published.Turn
	// Position is where FollowReleases begins: after a settled turn.
	Position = published.Position
	// FollowOptions are options of FollowReleases.
	FollowOptions = published.Options
)

// FollowReleases is published.Follow.
func FollowReleases(ctx context.Context, d *deployment.Deployment, o FollowOptions, fn func(Published) error) error {
	return published.Follow(ctx, d, o, fn)
}

// ReadReleases is published.Read.
func ReadReleases(ctx context.Context, d *deployment.Deployment) ([]schemas.Release, error) {
	return published.Read(ctx, d)
}

// AwaitBroker connects to a broker and waits for one that does not answer yet, for at most
// limit, so that a run can be started while its broker restarts: give RunOptions.Client the
// client, or close it. AwaitBroker says to log what it waits for, at once and again at growing
// intervals.
// Errors: ErrNoBroker when limit is over; at once what waiting does not mend, a wrong
// password for example; ctx's cause. With limit 0 it tries once, and returns the client's own
// error.
func AwaitBroker(ctx context.Context, d *deployment.Deployment, limit time.Duration, log *slog.Logger) (*kafkalog.Client, error) {
	cfg, err := connect.Config(&d.Config.Kafka, log)
	if err != nil {
		return nil, err
	}
	return watch.AwaitBroker(ctx, cfg, limit, log)
}
