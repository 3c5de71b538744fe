package publishing

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// settlements implements release.SettlementWriter.
type settlements struct {
	control *controllog.Writer
	ends    *turnEnds
}

// NewSettler returns SETTLE for a deployment. SETTLE writes SETTLED to control, and then the end of
// the turn to the turns topic. The result implements io.Closer.
func NewSettler(ctx context.Context, client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment,
	turns *calendar.Turns) (transforms.Settler, error) {
	writer, err := controllog.NewWriter(ctx, control)
	if err != nil {
		return nil, err
	}
	ends, err := newTurnEnds(ctx, client, control, d, turns)
	if err != nil {
		writer.Close()
		return nil, err
	}
	return release.NewSettler(d.Specs(), &settlements{control: writer, ends: ends})
}

// WriteSettlement implements release.SettlementWriter.
func (s *settlements) WriteSettlement(ctx context.Context, settled schemas.Settled) error {
	parts, err := schemas.SplitSettled(settled, controllog.MaxRecord)
	if err != nil {
		return err
	}
	bodies := make([]schemas.ControlBody, len(parts))
	for i := range parts {
		bodies[i] = &parts[i]
	}
	if _, err := s.control.Append(ctx, bodies...); err != nil {
		return err
	}
	return s.ends.add(settled.Turn, settled.CountsEnd)
}

// Close writes the queued ends of turns and closes the connections.
func (s *settlements) Close() error {
	s.control.Close()
	return s.ends.close()
}
