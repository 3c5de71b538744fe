package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
)

// awaitEvery is how often a broker is looked for that is not there yet.
const awaitEvery = time.Second

// AwaitBroker waits until a broker answers, for at most limit: a start during
// its restart. It says at once, to the logger, what it waits for. What is no
// matter of waiting, a wrong password for example, is returned at once.
func AwaitBroker(ctx context.Context, d *deployment.Deployment, limit time.Duration, log *slog.Logger) error {
	begin := time.Now()
	for told := false; ; {
		client, err := connect.Dial(ctx, d.Config.Kafka, nil)
		if err == nil {
			client.Close()
			if told {
				log.Warn("a broker answers now, after " + time.Since(begin).Round(time.Second).String())
			}
			return nil
		}
		waited := time.Since(begin)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("waiting for a broker: %w", context.Cause(ctx))
		case !kafkalog.MayComeUp(err):
			return err
		case waited >= limit && told:
			return fmt.Errorf("waiting for a broker: %w after %s: %w", deployment.ErrNoBroker, waited.Round(time.Second), err)
		case waited >= limit:
			return err
		case !told:
			told = true
			log.Warn(fmt.Sprintf("no broker answers, waiting for one for up to %s: %v", limit, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(awaitEvery, limit-waited)):
		}
	}
}
