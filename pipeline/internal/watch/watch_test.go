package watch

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
)

// A drain waits neither for ever for a partition that has no leader nor ends for a
// trouble that passes.
func TestRuleADrainIsNotHeldUpByOnePartition(t *testing.T) {
	const long = 400 * time.Millisecond
	begin := time.Now()
	stays := kafkalog.Trouble{Doing: "appending to topic \"ledger\" partition 3", Since: begin.Add(-time.Minute), Cause: errors.New("no leader")}
	if got := stuckCall(t.Context(), func() []kafkalog.Trouble { return []kafkalog.Trouble{stays} }, long); got == nil || got.Doing != stays.Doing || time.Since(begin) < long {
		t.Errorf("%+v after %v", got, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*long)
	defer cancel()
	passes := func() []kafkalog.Trouble { // each is over soon
		return []kafkalog.Trouble{{Doing: "reading", Since: time.Now().Add(-long / 2), Cause: errors.New("moved")}}
	}
	if got := stuckCall(ctx, passes, long); got != nil {
		t.Errorf("%+v ended a drain", got)
	}
	drain, ended := make(chan struct{}), make(chan error, 1)
	client, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{deploytest.Start(t).Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	close(drain)
	Start(t.Context(), client, New(Rules{}, slog.New(slog.DiscardHandler)), drain, func(err error) { ended <- err }).Stop()
	if len(ended) > 0 {
		t.Errorf("a drain without troubles ended with %v", <-ended)
	}
}
