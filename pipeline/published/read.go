package published

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Read returns every value on the counts topic, partition after partition, in the order of writing.
// It returns a value twice if it was written twice, and skips foreign records.
func Read(ctx context.Context, d *deployment.Deployment) ([]schemas.Release, error) {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var all []schemas.Release
	for shard := range d.Config.ReleaseShards {
		bounds, err := client.Offsets(ctx, d.Config.Outputs.Counts, int32(shard))
		if err != nil {
			return nil, fmt.Errorf("reading counts: %w", err)
		}
		err = countslog.EachValue(ctx, client.NewRangeReader(d.Config.Outputs.Counts, int32(shard)), bounds.Start,
			bounds.LastStable, countslog.IgnoreForeign, func(r schemas.Release, _, _ []byte) error {
				all = append(all, r)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
