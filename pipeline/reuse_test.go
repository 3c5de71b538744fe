package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// READ fetches into the same memory again and again. Records kept beyond the next poll do not
// change: the first part of a SETTLED, until the last part arrives, and dead letters.
func TestRuleREADKeepsNothingThatANextPollOverwrites(t *testing.T) {
	broker := deploytest.Start(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cfg := deploytest.Config(broker.Addr())
	cfg.Metrics[0].Window = time.Minute
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(t, cfg, start, 1)
	control, source := readerOf(t, d, reading.Options{Groups: 1})
	writer := must.Have(controllog.NewWriter(ctx, control))
	defer writer.Close()

	var broken [][]byte
	minute := func(m, records int) {
		var msgs []kafkalog.Message
		for i := range records {
			millis := start.Add(time.Duration(m)*time.Minute + time.Duration(i)*time.Millisecond).UnixMilli()
			value := fmt.Appendf(nil, `{"user":"person-%d-%d","key":"a","time":%d}`, m, i, millis)
			if i%10 == 3 {
				value = fmt.Appendf(nil, "broken record %d of minute %d", i, m)
				broken = append(broken, value)
			}
			msgs = append(msgs, kafkalog.Message{Value: value, Timestamp: kafkalog.At(millis)})
		}
		appendEvents(t, broker.Addr(), msgs...)
	}
	minute(0, 300)
	minute(30, 300)
	position := transforms.Restriction{Epoch: -1, Tick: 1}
	step := must.Have(source.Step(ctx, position))
	settled := schemas.Settled{Epoch: step.Next.Epoch, Turn: 1, CountsEnd: make([]int64, d.Config.ReleaseShards)}
	for i := range 60 {
		settled.Keys = append(settled.Keys, schemas.SettledKey{Key: fmt.Appendf(nil, "%0200d", i)})
	}
	parts, err := schemas.SplitSettled(settled, 12<<10)
	if err != nil || len(parts) != 2 {
		t.Fatalf("SETTLED in %d parts: %v", len(parts), err)
	}
	next := make(chan error, 1)
	go func() {
		_, err := source.Step(ctx, step.Next)
		next <- err
	}()
	must.Have(writer.Append(ctx, &parts[0]))
	await.That(t, time.Minute, "READ has the first part", func() (has bool) {
		control.WithView(func(v *controllog.View) { has = len(v.Parts) == 1 })
		return has
	})
	minute(31, 500)
	must.Have(writer.Append(ctx, &parts[1]))
	if err := <-next; err != nil {
		t.Fatalf("READ goes on after a SETTLED that came in two polls: %v", err)
	}

	var letters [][]byte
	eachRecord(t, d, d.Config.Outputs.DeadLetter, 0, func(r kafkalog.Record) { letters = append(letters, r.Value) })
	if len(letters) < 60 {
		t.Fatalf("%d dead letters, want 60 at least", len(letters))
	}
	for i, value := range letters {
		if !bytes.Equal(value, broken[i]) {
			t.Errorf("dead letter %d is %q, want %q", i, value, broken[i])
		}
	}
}
