package countslog

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
)

// Position is a published.Position.
type Position struct {
	Turn   uint64
	Counts []int64
	Ends   int64
}

// CurrentPosition returns the Position after the last settled turn, from control.
func CurrentPosition(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment) (Position, error) {
	ends, err := EndsOfTurns(ctx, client, d)
	if err != nil {
		return Position{}, err
	}
	control, err := controllog.Open(ctx, client, d.Config.Outputs.Control, d.Config.LedgerSlots,
		slog.New(slog.DiscardHandler))
	if err != nil {
		return Position{}, err
	}
	return SettledPosition(control, d, ends), nil
}

// EndsOfTurns returns the end of the turns topic. Read control after it: the ends of turns that are
// not settled then are at this offset or later.
func EndsOfTurns(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment) (int64, error) {
	bounds, err := client.Offsets(ctx, d.Config.Outputs.Turns, 0)
	if err != nil {
		return 0, fmt.Errorf("reading topic %s: %w", d.Config.Outputs.Turns, err)
	}
	return bounds.LastStable, nil
}

// SettledPosition returns the Position after the last settled turn; ends is the result of
// EndsOfTurns before control was read.
func SettledPosition(control *controllog.Log, d *deployment.Deployment, ends int64) Position {
	p := Position{Counts: control.CountsFrom(d.Config.ReleaseShards), Ends: ends}
	control.WithView(func(v *controllog.View) { p.Turn = v.Settled })
	return p
}
