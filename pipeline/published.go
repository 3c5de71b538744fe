package pipeline

import (
	"context"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/published"
	"github.com/tollgate-dp/tollgate/schemas"
)

// The types of package published, which a program that only reads counts can import alone.
type (
	// Published holds the values of one turn, or of several turns.
	Published = published.Turn
	// Position is the starting point of FollowReleases, after a settled turn.
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
