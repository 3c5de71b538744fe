package countslog

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
)

// Position holds the fields of a published.Position.
type Position struct {
	Turn   uint64
	Counts []int64
	Ends   int64
}

// CurrentPosition returns the Position after the last settled turn. It first finds the end of the
// turns topic, and then calls read, which must read control to its current end. In this order, the
// ends of turns that are not settled cannot lie before the Position.
func CurrentPosition(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment,
	read func() (*controllog.Log, error)) (Position, error) {
	bounds, err := client.Offsets(ctx, d.Config.Outputs.Turns, 0)
	if err != nil {
		return Position{}, fmt.Errorf("reading topic %s: %w", d.Config.Outputs.Turns, err)
	}
	control, err := read()
	if err != nil {
		return Position{}, err
	}
	p := Position{Counts: control.CountsFrom(d.Config.ReleaseShards), Ends: bounds.LastStable}
	control.WithView(func(v *controllog.View) { p.Turn = v.Settled })
	return p, nil
}
