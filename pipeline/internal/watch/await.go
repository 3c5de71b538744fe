package watch

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// ForEver is the limit with which AwaitBroker waits until ctx ends.
const ForEver = time.Duration(math.MaxInt64)

// awaitEvery is the interval between attempts to reach a broker that does not respond.
const awaitEvery = time.Second

// slowAfter is how long an attempt may take before AwaitBroker logs that it waits. A frozen broker
// accepts connections, so an attempt to use it fails only after ten seconds.
const slowAfter = 2 * time.Second

// AwaitBroker implements pipeline.AwaitBroker. Only its own timeouts end the first attempt, even if
// that takes longer than limit.
func AwaitBroker(ctx context.Context, cfg kafkalog.Config, limit time.Duration,
	log *slog.Logger) (*kafkalog.Client, error) {
	begin := time.Now()
	upTo := func() string {
		if limit == ForEver || limit == 0 {
			return ""
		}
		return " for up to " + max(0, limit-time.Since(begin)).Round(100*time.Millisecond).String()
	}
	slow := false // the wait was logged because an attempt is slow
	attempt := func(ctx context.Context) (client *kafkalog.Client, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if client, err = kafkalog.Dial(ctx, cfg); err != nil {
				err = fmt.Errorf("connecting to Kafka: %w", err)
			}
		}()
		select {
		case <-done:
			return client, err
		case <-time.After(slowAfter):
		}
		if !slow && ctx.Err() == nil {
			slow = true
			log.Warn("no broker has answered yet, waiting for one" + upTo())
		}
		<-done
		return client, err
	}
	client, err := attempt(ctx)
	for warned := (Repeat{}); ; {
		if err == nil {
			if warned.Reported() || slow {
				log.Warn("a broker answers after " + time.Since(begin).Round(time.Second).String())
			}
			return client, nil
		}
		waited := time.Since(begin)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("waiting for a broker: %w", context.Cause(ctx))
		case !kafkalog.MayComeUp(err):
			return nil, err
		case waited >= limit && limit > 0:
			return nil, fmt.Errorf("waiting for a broker: %w after %s: %w", deployment.ErrNoBroker,
				waited.Round(time.Second), err)
		case waited >= limit:
			return nil, err
		case warned.Due(time.Now()):
			log.Warn(fmt.Sprintf("no broker answers, waiting for one%s: %v", upTo(), err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(awaitEvery, limit-waited)):
		}
		within, cancel := context.WithDeadline(ctx, begin.Add(limit))
		var attemptErr error
		client, attemptErr = attempt(within)
		if within.Err() == nil || attemptErr == nil || ctx.Err() != nil { // otherwise only the deadline ended it
			err = attemptErr
		}
		cancel()
	}
}
