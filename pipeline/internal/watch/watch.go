package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	watchEvery = time.Second
	// stuckAfter is how long a drain waits for a call that is being retried. It is less than the
	// ten seconds after which supervisors kill a process, and long enough for kafkalog.Client.Gone
	// to report that no broker responds at all.
	stuckAfter = 9 * time.Second
)

// Watch monitors a run from outside, because any stage of the run may be waiting for a broker. It
// is safe for concurrent use.
type Watch struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu          sync.Mutex
	everySecond []func(now time.Time)
}

// Start returns a Watch that updates s about once a second. Once drain is closed, it calls end if
// no broker responds (deployment.ErrNoBroker) or a call takes too long (deployment.ErrStuck).
func Start(ctx context.Context, client *kafkalog.Client, s *Stalls, drain <-chan struct{},
	end context.CancelCauseFunc) *Watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel}
	w.running.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				now := time.Now()
				s.update(now, client.Troubles(), client.Away())
				w.runEverySecond(now)
			}
		}
	})
	w.running.Go(func() {
		select {
		case <-ctx.Done():
		case <-drain:
			w.running.Go(func() {
				if stuck := stuckCall(ctx, client.Troubles, stuckAfter); stuck != nil {
					end(fmt.Errorf("draining: %w: the run ended with unfinished work, which the next run will redo "+
						"(%s: %w)", deployment.ErrStuck, stuck.Doing, stuck.Cause))
				}
			})
			if err := client.Gone(ctx); err != nil {
				end(fmt.Errorf("draining: %w: the run ended with unfinished work, which the next run will redo (%w)",
					deployment.ErrNoBroker, err))
			}
		}
	})
	return w
}

// EverySecond makes the watch call fn about once a second.
func (w *Watch) EverySecond(fn func(now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.everySecond = append(w.everySecond, fn)
}

func (w *Watch) runEverySecond(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fn := range w.everySecond {
		fn(now)
	}
}

// Stop ends the watch.
func (w *Watch) Stop() {
	w.cancel()
	w.running.Wait()
}

// stuckCall waits until a call has been retried for at least limit, and returns that call. It
// returns nil if ctx ends first. Trouble that began earlier counts only from the start of the wait,
// because it may be over within a second.
func stuckCall(ctx context.Context, troubles func() []kafkalog.Trouble, limit time.Duration) *kafkalog.Trouble {
	began := time.Now()
	ticker := time.NewTicker(limit / 20)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			all := troubles()
			if len(all) > 0 && now.Sub(all[0].Since) >= limit && now.Sub(began) >= limit {
				return &all[0]
			}
		}
	}
}

// CauseOr returns the error with which a watch cancelled ctx, if one did. Otherwise, and if err
// is nil, it returns err.
func CauseOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil &&
		(errors.Is(cause, deployment.ErrNoBroker) || errors.Is(cause, deployment.ErrStuck)) {
		return cause
	}
	return err
}
