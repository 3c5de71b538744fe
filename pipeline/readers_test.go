package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// readersOf opens control for a run and makes as many readers of its events, none of which has
// begun.
func readersOf(t *testing.T, d *deployment.Deployment, groups int) (*controllog.Log, []*reading.Source) {
	t.Helper()
	ctx := t.Context()
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	log := slog.New(slog.DiscardHandler)
	control, err := controllog.Open(ctx, client, d.Config.Outputs.Control, d.Config.LedgerSlots, log)
	if err == nil {
		err = control.Announce(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []*reading.Source
	for g := range groups {
		s, err := reading.New(ctx, d, client, control, reading.Options{Group: g, Groups: groups, StallLimit: time.Hour, Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		all = append(all, s)
	}
	return control, all
}

// A reader reads nothing, and hands back, until group 0 of its run has taken an epoch after it
// began.
func TestRuleNothingIsReadOutsideOfAnEpoch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(t, deploytest.Config(deploytest.Start(t).Addr()), start, 2)
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := client.NewProducer(t.Context(), "events", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	event := kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"u","key":"a","time":%d}`, start.UnixMilli()), Timestamp: kafkalog.At(start.UnixMilli())}
	if _, err := producer.Append(t.Context(), []kafkalog.Message{event}); err != nil {
		t.Fatal(err)
	}
	older := appendControl(t, d, &schemas.Run{})[0]
	control, readers := readersOf(t, d, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		when string
		run  int64 // that takes an epoch before
	}{{"with no epoch", -1}, {"in the epoch of an older run", older}, {"in an epoch that was taken before it began", control.Run}} {
		if c.run >= 0 {
			epoch := appendControl(t, d, &schemas.Epoch{Run: c.run})[0]
			appendControl(t, d, &schemas.Passed{Epoch: epoch})
		}
		step, err := readers[1].Step(ctx, transforms.Restriction{Group: 1, Epoch: -1, Tick: 1}) // it begins anew
		if err != nil || step.Opened || len(step.Elements) > 0 || step.Next.Epoch >= 0 {
			t.Errorf("%s: %+v, %v", c.when, step, err)
		}
	}
	bounds, err := client.Offsets(ctx, d.Config.Outputs.Control, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = client.ReadRange(ctx, d.Config.Outputs.Control, 0, 0, bounds.LastStable, func(r kafkalog.Record) error {
		c, err := schemas.DecodeControl(r.Value)
		if p, is := c.Body.(*schemas.Passed); is && p.Group == 1 {
			t.Errorf("the reader said %+v", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A reader whose group another one of its run has begun to read fails: that one is what the engine
// goes on with, or the engine has to begin anew.
func TestRuleAReaderThatWasReplacedFails(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	control, readers := readersOf(t, d, 2)
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	again, err := reading.New(t.Context(), d, client, control, reading.Options{Group: 1, Groups: 2, StallLimit: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	begin := transforms.Restriction{Group: 1, Epoch: -1, Tick: 1}
	first, err := readers[1].Step(t.Context(), begin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Step(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	if step, err := readers[1].Step(t.Context(), first.Next); err == nil || !strings.Contains(err.Error(), "another process of this run") || step.Next.Done {
		t.Errorf("the reader that was replaced: %+v, %v", step, err)
	}
}
