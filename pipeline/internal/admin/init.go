package admin

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// StartAt turns a header into the first of a deployment: generation 1 with turn 1, which begins at
// a time in Unix milliseconds, a multiple of the least slide.
func StartAt(h *schemas.Header, millis int64) {
	h.StartMillis, h.FromTurn, h.SliceStart = millis, 1, millis
}

// CheckEmpty refuses a control, ledger, counts or turns topic that holds anything, or that has
// another number of partitions than the configuration. Errors: deployment.ErrInitialised,
// deployment.ErrLogFault, deployment.ErrHeaderMismatch, or the broker's error.
func CheckEmpty(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client) error {
	control, err := client.Offsets(ctx, d.Config.Outputs.Control, controllog.Partition)
	if err != nil {
		return fmt.Errorf("reading control: %w (has the topic been created?)", err)
	}
	if control.High > 0 {
		return fmt.Errorf("initialising: topic %s is not empty: %w", d.Config.Outputs.Control,
			deployment.ErrInitialised)
	}
	for _, t := range []struct {
		topic string
		want  int
	}{{d.Config.Outputs.Ledger, d.Config.Shards}, {d.Config.Outputs.Counts, d.Config.ReleaseShards},
		{d.Config.Outputs.Turns, 1}} {
		ids, err := client.Partitions(ctx, t.topic)
		if err != nil {
			return fmt.Errorf("reading topic %s: %w", t.topic, err)
		}
		if len(ids) != t.want {
			return fmt.Errorf("initialising: topic %s has %d partitions, and the configuration needs %d: %w", t.topic,
				len(ids), t.want, deployment.ErrHeaderMismatch)
		}
		for _, id := range ids {
			bounds, err := client.Offsets(ctx, t.topic, id)
			if err != nil {
				return fmt.Errorf("reading topic %s: %w", t.topic, err)
			}
			if bounds.High > 0 {
				return fmt.Errorf("initialising: control is empty and topic %s is not: control was lost, or they "+
					"belong to different deployments: %w", t.topic, deployment.ErrLogFault)
			}
		}
	}
	return nil
}
