package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// bounded is a deployment of one shard with windows of a second, and the
// configuration with other bounds that a change puts in force.
func bounded(t *testing.T, change func(*deployment.Config)) (d *deployment.Deployment, next deployment.Config) {
	t.Helper()
	var cfg deployment.Config
	d = tenTurns(t, func(c *deployment.Config) {
		c.Shards, c.ReleaseShards = 1, 1
		change(c)
		cfg = *c
	})
	next = cfg
	next.Metrics = append([]deployment.Metric{}, cfg.Metrics...)
	next.Metrics[0].MaxEventsPerKey = 1
	return d, next
}

// diesBeforeSettling runs a deployment until a turn is published but not settled.
func diesBeforeSettling(t *testing.T, d *deployment.Deployment, last int) {
	t.Helper()
	turn := 0
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		if point == crashpoint.SettledWriting {
			if turn++; turn == last {
				return errors.New("died")
			}
		}
		return nil
	}}
	if _, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true}); err == nil {
		t.Fatal("the run did not die")
	}
}

// Records lost from counts may have been values, in the first turn as in any other.
func TestRuleAChangeAndARunLookAtAllThatWasPublished(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		turn int
		lose func(*testing.T, *deployment.Deployment)
	}{
		"values that are there":          {3, func(*testing.T, *deployment.Deployment) {}},
		"values that are gone":           {3, func(t *testing.T, d *deployment.Deployment) { deleteCounts(t, d) }},
		"values of the first turn, gone": {1, func(t *testing.T, d *deployment.Deployment) { deleteCounts(t, d) }},
		"counts that were made anew":     {3, remakeCounts},
	} {
		t.Run(name, func(t *testing.T) {
			d, next := bounded(t, func(*deployment.Config) {})
			diesBeforeSettling(t, d, test.turn)
			appendRecord(t, d, d.Config.Outputs.Ledger, kafkalog.Message{Key: fmt.Appendf(nil, "delta/%d/0", test.turn),
				Value: []byte("another program's")})
			test.lose(t, d)
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.Is(err, deployment.ErrLogFault) {
				t.Errorf("the run ended with %v", err)
			}
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.Is(err,
				deployment.ErrLogFault) {
				t.Errorf("the change ended with %v", err)
			}
		})
	}
}

// remakeCounts deletes the counts topic and makes it again.
func remakeCounts(t *testing.T, d *deployment.Deployment) {
	t.Helper()
	deploytest.DeleteTopic(t, d.Config.Kafka.Brokers[0], d.Config.Outputs.Counts)
	client := dial(t, d)
	for _, spec := range topicrules.Specs(d, 0, 0) {
		if spec.Name != d.Config.Outputs.Counts {
			continue
		}
		must.Succeed(t, client.CreateTopics(t.Context(), spec))
	}
}

// Decisions of earlier generations were made under other rules: without the snapshots of a change,
// neither a run nor another change can continue.
func TestRuleAGenerationNeedsTheSnapshotThatItBeganWith(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]*kafkalog.Message{
		"lost to a foreign record": {Key: []byte("snapshot/0/0"), Value: []byte("another program's")},
		"lost to a tombstone":      {Key: []byte("snapshot/0/0")},
		"still there":              nil,
	} {
		t.Run(name, func(t *testing.T) {
			d, next := bounded(t, func(*deployment.Config) {})
			ran(t, d)
			d = mustCompile(t, next)
			must.Have(Change(t.Context(), d, ChangeOptions{}))
			millis := time.Date(2026, 1, 1, 0, 0, 15, 0, time.UTC).UnixMilli()
			appendRecord(t, d, "events", kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"u","key":"a","time":%d}`,
				millis), Timestamp: kafkalog.At(millis)})
			if lost == nil {
				ran(t, d)
				return
			}
			appendRecord(t, d, d.Config.Outputs.Ledger, *lost)
			next.Metrics = append([]deployment.Metric{}, next.Metrics...)
			next.Metrics[0].MaxEventsPerKey = 2
			var stop *spend.StopError
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.As(err, &stop) ||
				!strings.Contains(err.Error(), "the snapshot with which this generation began is missing") {
				t.Errorf("another change ended with %v", err)
			}
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.As(err, &stop) {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

// With budget periods the time of an event decides which budget it is charged to: one event must
// not be charged to two.
func TestRuleTheTimeOfAnEventNeverChangesUnderPeriods(t *testing.T) {
	t.Parallel()
	for period, want := range map[time.Duration]error{0: nil, 2 * time.Second: deployment.ErrHeaderMismatch} {
		for name, change := range map[string]func(*deployment.Config){
			"its field": func(c *deployment.Config) { c.Events.Format.Time = "received" },
			"its unit":  func(c *deployment.Config) { c.Events.Format.TimeUnit = "s" },
		} {
			d, next := bounded(t, func(c *deployment.Config) {
				if period > 0 {
					c.Privacy.Period, c.Privacy.Lasts = period, 0
				}
			})
			ran(t, d)
			change(&next)
			next.Metrics[0].Name = "views2"
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.Is(err, want) {
				t.Errorf("periods of %v, %s: the change ended with %v, want %v", period, name, err, want)
			}
		}
	}
}
