package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
)

// ErrNoBroker says that a run was to be drained, or a wait was over, and no broker
// answered. Nothing is lost: what was under way is redone by the next run.
var ErrNoBroker = errors.New("no broker answers")

// ErrStuck says that a run was to be drained, and that Kafka answers and does not let
// the open turn be finished: a partition has no leader, for example. Nothing is lost,
// as with ErrNoBroker.
var ErrStuck = errors.New("Kafka does not let the open turn be finished")

const (
	watchEvery = time.Second
	// stuckAfter is how long a drain waits for what is tried again and again: below the
	// ten seconds that supervisors wait before they kill, and long enough for
	// klog.Client.Gone to say that no broker answers at all.
	stuckAfter = 9 * time.Second
)

// watch looks after a run from outside, which may wait for a broker in any of
// its stages: it tells stalls, and ends a run that is to be drained while no
// broker answers. end is called for that, with the reason. The call returned
// ends the watch.
func watch(ctx context.Context, client *klog.Client, s *stalls, drain <-chan struct{}, end context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.tick(time.Now(), client.Troubles())
			}
		}
	})
	running.Go(func() {
		select {
		case <-ctx.Done():
		case <-drain:
			running.Go(func() {
				if why := stuckCall(ctx, client.Troubles, stuckAfter); why != nil {
					end(fmt.Errorf("draining: %w: ended without it, and the next run redoes what was under way (%s: %w)", ErrStuck, why.Doing, why.Cause))
				}
			})
			if err := client.Gone(ctx); err != nil {
				end(fmt.Errorf("draining: %w: ended without one, and the next run redoes what was under way (%w)", ErrNoBroker, err))
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// stuckCall waits for a call that has been tried again and again for long, and returns
// it; nil at the end of ctx. What is a trouble already counts from when the wait
// began: it may pass within a second, and the turn be finished.
func stuckCall(ctx context.Context, troubles func() []klog.Trouble, long time.Duration) *klog.Trouble {
	began := time.Now()
	ticker := time.NewTicker(long / 20)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			all := troubles()
			if len(all) > 0 && now.Sub(all[0].Since) >= long && now.Sub(began) >= long {
				return &all[0]
			}
		}
	}
}

// unlessEnded is the reason for which the watch has ended a run, or what the run
// itself returned.
func unlessEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, ErrNoBroker) || errors.Is(cause, ErrStuck)) {
		return cause
	}
	return err
}

// awaitEvery is how often a broker is looked for that is not there yet.
const awaitEvery = time.Second

// AwaitBroker waits until a broker answers, for at most limit: a start during
// its restart. It says at once, to the logger, what it waits for. What is no
// matter of waiting, a wrong password for example, is returned at once.
func AwaitBroker(ctx context.Context, d *Deployment, limit time.Duration, log *slog.Logger) error {
	begin := time.Now()
	for told := false; ; {
		client, err := Dial(ctx, d.Config.Kafka, nil)
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
		case !klog.MayComeUp(err):
			return err
		case waited >= limit && told:
			return fmt.Errorf("waiting for a broker: %w after %s: %w", ErrNoBroker, waited.Round(time.Second), err)
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
