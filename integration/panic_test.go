package integration

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
)

// A panic in one shard cancels what the others wait for: the run ends with the panic, not with what
// came of it, and the next run goes on as if nothing had been.
func TestAPanicIsToldAndNotTheCancellationItCauses(t *testing.T) {
	d := newDeployment(t, startBroker(t), "panic", 1, tight)
	d.load(scatter(calm(7).arrivals(), 1, 1))
	writing := make(chan struct{})
	var once sync.Once
	_, err := d.tryRun(func(o *runOptions) {
		o.Hooks.At = func(point string, _ int) error {
			if point == crashpoint.DeltaWriting {
				once.Do(func() { close(writing) })
				time.Sleep(time.Second) // others wait for this write when the panic comes
			}
			return nil
		}
		o.Hooks.Forget = func(shard int, _ uint64) bool {
			if shard == 0 {
				select {
				case <-writing:
				case <-time.After(5 * time.Second): // an engine has all shards in one bundle: the others come after this one
				}
				time.Sleep(200 * time.Millisecond)
				panic("planned")
			}
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), "panic: planned") || errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
	d.run()
	d.verify()
}
