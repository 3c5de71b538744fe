package watch

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
)

// ForEver is no limit.
const ForEver = time.Duration(math.MaxInt64)

// awaitEvery is how often AwaitBroker looks for a broker that does not answer yet.
const awaitEvery = time.Second

// AwaitBroker waits until a broker answers, for at most limit, so that a run can be
// started while its broker restarts. It says to log what it waits for, at once and again
// at growing intervals.
// Errors: ErrNoBroker when limit is over; at once what waiting does not mend, a wrong
// password for example; ctx's cause. With limit 0 it does not wait, and returns the
// client's own error.
func AwaitBroker(ctx context.Context, kafka *deployment.Kafka, limit time.Duration, log *slog.Logger) error {
	begin := time.Now()
	for told := (Repeat{}); ; {
		client, err := connect.Dial(ctx, *kafka, nil)
		if err == nil {
			client.Close()
			if told.Told() {
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
		case waited >= limit && told.Told():
			return fmt.Errorf("waiting for a broker: %w after %s: %w", deployment.ErrNoBroker, waited.Round(time.Second), err)
		case waited >= limit:
			return err
		case told.Due(time.Now()):
			upTo := ""
			if limit < ForEver {
				upTo = " for up to " + (limit - waited).Round(100*time.Millisecond).String()
			}
			log.Warn(fmt.Sprintf("no broker answers, waiting for one%s: %v", upTo, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(awaitEvery, limit-waited)):
		}
	}
}
