package pipeline

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

func announced(t testing.TB, d *deployment.Deployment) (*kafkalog.Client, *controllog.Log) {
	t.Helper()
	client, log := dial(t, d), slog.New(slog.DiscardHandler)
	control, err := controllog.Open(t.Context(), client, d.Config.Outputs.Control, d.Config.LedgerSlots, log)
	if err == nil {
		err = control.Announce(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return client, control
}

// newReader makes a reader of a run's events, which has not begun.
func newReader(t testing.TB, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	opts reading.Options) *reading.Source {
	t.Helper()
	opts.StallLimit, opts.Logger = 1<<50, slog.New(slog.DiscardHandler)
	source := must.Have(reading.New(t.Context(), d, client, control, opts))
	t.Cleanup(source.Close)
	return source
}

// readerOf opens control for a run and makes the only reader of its events.
func readerOf(t testing.TB, d *deployment.Deployment, opts reading.Options) (*controllog.Log, *reading.Source) {
	t.Helper()
	client, control := announced(t, d)
	return control, newReader(t, d, client, control, opts)
}

// readersOf opens control for a run and makes two readers of its events.
func readersOf(t *testing.T, d *deployment.Deployment) (*controllog.Log, []*reading.Source) {
	t.Helper()
	client, control := announced(t, d)
	return control, []*reading.Source{newReader(t, d, client, control, reading.Options{Group: 0, Groups: 2}),
		newReader(t, d, client, control, reading.Options{Group: 1, Groups: 2})}
}

// A reader reads nothing, and hands back, until group 0 of its run has taken an epoch after it
// began.
func TestRuleNothingIsReadOutsideOfAnEpoch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(t, deploytest.Config(deploytest.Start(t).Addr()), start, 2)
	appendTo(t, dial(t, d), "events", 1, eventOf("u", start))
	older := appendControl(t, d, &schemas.Run{})[0]
	control, readers := readersOf(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		when string
		run  int64 // takes an epoch first
	}{{"with no epoch", -1}, {"in the epoch of an older run", older}, {"in an epoch that was taken before it began",
		control.Run}} {
		if c.run >= 0 {
			epoch := appendControl(t, d, &schemas.Epoch{Run: c.run})[0]
			appendControl(t, d, &schemas.Passed{Epoch: epoch})
		}
		step, err := readers[1].Step(ctx, transforms.Restriction{Group: 1, Epoch: -1, Tick: 1}) // it begins anew
		if err != nil || step.Opened || len(step.Elements) > 0 || step.Next.Epoch >= 0 {
			t.Errorf("%s: %+v, %v", c.when, step, err)
		}
	}
	eachRecord(t, d, d.Config.Outputs.Control, 0, func(r kafkalog.Record) {
		if p, is := must.Have(schemas.DecodeControl(r.Value)).Body.(*schemas.Passed); is && p.Group == 1 {
			t.Errorf("the reader said %+v", p)
		}
	})
}

// A reader whose group another one of its run has begun to read fails: that one is what the engine
// goes on with, or the engine has to begin anew.
func TestRuleAReaderThatWasReplacedFails(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	control, readers := readersOf(t, d)
	again := newReader(t, d, dial(t, d), control, reading.Options{Group: 1, Groups: 2})
	begin := transforms.Restriction{Group: 1, Epoch: -1, Tick: 1}
	first := must.Have(readers[1].Step(t.Context(), begin))
	must.Have(again.Step(t.Context(), begin))
	if step, err := readers[1].Step(t.Context(), first.Next); err == nil || !strings.Contains(err.Error(),
		"another process of this run") || step.Next.Done {
		t.Errorf("the reader that was replaced: %+v, %v", step, err)
	}
}
