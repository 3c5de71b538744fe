package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas"
)

// tenTurns deploys a configuration over ten turns of a second.
func tenTurns(t testing.TB, change func(*deployment.Config)) *deployment.Deployment {
	t.Helper()
	return tenTurnsFrom(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), change)
}

func tenTurnsFrom(t testing.TB, start time.Time, change func(*deployment.Config)) *deployment.Deployment {
	t.Helper()
	cfg := deploytest.Config(deploytest.Start(t).Addr())
	cfg.Metrics[0].Window, cfg.ReleaseShards = time.Second, 2
	change(&cfg)
	d := deploy(t, cfg, start, 1)
	var values []kafkalog.Message
	for i := range 100 {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond).UnixMilli()
		values = append(values, kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"u%d","key":"a","time":%d}`, i, at), Timestamp: kafkalog.At(at)})
	}
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := client.NewProducer(t.Context(), "events", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if _, err := producer.Append(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	return d
}

// Values that are ready wait for the next instant of the grid: no two turns appear
// between the same two instants, however quickly they follow each other.
func TestRuleCountsAppearOnAGridOfTime(t *testing.T) {
	const every = 400 * time.Millisecond
	d := tenTurns(t, func(c *deployment.Config) { c.Outputs.PublishEvery, c.ReleaseShards = every, 1 })
	var mu sync.Mutex
	var cells []int64
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		if point == crashpoint.CountsWriting {
			cells = append(cells, time.Now().UnixNano()/int64(every))
		}
		return nil
	}}
	if _, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	if len(cells) != 10 {
		t.Fatalf("%d writes, want 10", len(cells))
	}
	for i := 1; i < len(cells); i++ {
		if cells[i] <= cells[i-1] {
			t.Errorf("turns %d and %d appeared between the same instants", i, i+1)
		}
	}
}

// Every partition tells where a turn ends, also one without values, and no value
// of an ended turn comes after that.
func TestEveryPartitionTellsWhereATurnEnds(t *testing.T) {
	endsOfTurns(t, tenTurns(t, func(*deployment.Config) {}))
}

// Windows that end in 1970 and before are windows like others: their values and
// ends have that time, not the time of writing.
func TestRuleWindowsOfAnyTimeAreCounted(t *testing.T) {
	d := tenTurnsFrom(t, time.UnixMilli(-5000), func(*deployment.Config) {})
	endsOfTurns(t, d)
	report, err := TrustedReport(t.Context(), d)
	if err != nil || report.Accepted != 100 {
		t.Errorf("tallies %+v, %v", report, err)
	}
}

func endsOfTurns(t *testing.T, d *deployment.Deployment) {
	t.Helper()
	if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(context.Background(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for shard := range int32(2) {
		bounds, err := client.Offsets(t.Context(), d.Config.Outputs.Counts, shard)
		if err != nil {
			t.Fatal(err)
		}
		var ended schemas.TurnEnd
		err = client.ReadRange(t.Context(), d.Config.Outputs.Counts, shard, 0, bounds.High, func(r kafkalog.Record) error {
			switch kind := string(r.Headers[0].Value); kind {
			case schemas.TypeTurnEnd:
				e, err := schemas.DecodeTurnEnd(r.Value)
				if err != nil {
					return err
				}
				if e.Turn != ended.Turn+1 || e.Generation != 1 || r.Timestamp != e.End {
					t.Errorf("after turn %d: %+v", ended.Turn, e)
				}
				ended = e
			case schemas.TypeRelease:
				rel, err := schemas.DecodeRelease(r.Value)
				if err != nil {
					return err
				}
				if r.Timestamp != rel.WindowEnd {
					t.Errorf("a value of a window that ends at %d has the time %d", rel.WindowEnd, r.Timestamp)
				}
				if ended.Turn > 0 && rel.WindowEnd <= ended.End {
					t.Errorf("a value for a window that ends at %d stands after the end of %d", rel.WindowEnd, ended.End)
				}
			}
			return nil
		})
		if err != nil || ended.Turn != 10 {
			t.Errorf("partition %d tells of %d turns (%v)", shard, ended.Turn, err)
		}
	}
}
