package pipeline

import (
	"context"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/published"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Published values, under the names that most programs need. Package published has the same without
// an engine.
type (
	// Published is what counts holds of a turn, or of several together.
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
