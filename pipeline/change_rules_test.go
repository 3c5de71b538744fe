package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
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

// What was published of a turn that is not settled is charged by its decisions on
// the ledger. Where those are lost a change would publish other values for the same
// windows, and no user would be charged for the first: it is refused, as a run is.
func TestRuleAChangeGoesOverNoPublishedTurn(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]*kafkalog.Message{
		"lost to a foreign record": {Key: []byte("delta/3/0"), Value: []byte("another program's")},
		"lost to a tombstone":      {Key: []byte("delta/3/0")},
		"still there":              nil,
	} {
		t.Run(name, func(t *testing.T) {
			d, next := bounded(t, func(*deployment.Config) {})
			diesBeforeSettling(t, d, 3)
			want := deployment.ErrInterruptedTurn
			if lost != nil {
				appendRecord(t, d, d.Config.Outputs.Ledger, *lost)
				want = deployment.ErrLogFault
			}
			var warnings bytes.Buffer
			_, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{Logger: deploytest.Logger(&warnings)})
			if !errors.Is(err, want) {
				t.Errorf("the change ended with %v, want %v", err, want)
			}
			dry, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{DryRun: true})
			if lost != nil && !errors.Is(err, want) || lost == nil && (err != nil || dry.UnderWay != 3) {
				t.Errorf("the dry run ended with %+v, %v", dry, err)
			}
			if named := strings.Contains(warnings.String(), "topic tollgate-ledger, partition 0: the record at offset "); named != (lost != nil) {
				t.Errorf("the change said:\n%s", warnings.String())
			}
		})
	}
}

// diesBeforeSettling runs a deployment until a turn is published and not settled.
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

// What counts has lost may have been values, in the first turn as in any other.
func TestRuleAChangeAndARunLookAtAllThatWasPublished(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config func(*deployment.Config)
		turn   int
		lose   func(*testing.T, *deployment.Deployment)
	}{
		"values that are there":          {func(*deployment.Config) {}, 3, func(*testing.T, *deployment.Deployment) {}},
		"values that are gone":           {func(*deployment.Config) {}, 3, func(t *testing.T, d *deployment.Deployment) { deleteCounts(t, d) }},
		"values of the first turn, gone": {func(*deployment.Config) {}, 1, func(t *testing.T, d *deployment.Deployment) { deleteCounts(t, d) }},
		"counts that were made anew":     {func(*deployment.Config) {}, 3, remakeCounts},
		"values of a second partition": {func(c *deployment.Config) {
			c.ReleaseShards, c.Metrics[0].Keys.List = 2, strings.Split("abcdefghijklmnopqrstuvwxyz", "") // some in each
		}, 3, func(*testing.T, *deployment.Deployment) {}},
	} {
		t.Run(name, func(t *testing.T) {
			d, next := bounded(t, test.config)
			if d.Config.ReleaseShards == 2 {
				diesWithOnePartition(t, d, test.turn)
			} else {
				diesBeforeSettling(t, d, test.turn)
			}
			appendRecord(t, d, d.Config.Outputs.Ledger, kafkalog.Message{Key: fmt.Appendf(nil, "delta/%d/0", test.turn), Value: []byte("another program's")})
			test.lose(t, d)
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.Is(err, deployment.ErrLogFault) {
				t.Errorf("the run ended with %v", err)
			}
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.Is(err, deployment.ErrLogFault) {
				t.Errorf("the change ended with %v", err)
			}
		})
	}
}

// diesWithOnePartition runs a deployment of two partitions of counts until a turn is published in
// the second one only.
func diesWithOnePartition(t *testing.T, d *deployment.Deployment, last int) {
	t.Helper()
	var settled atomic.Int32
	published := make(chan struct{})
	hooks := crashpoint.Hooks{At: func(point string, shard int) error {
		switch open := int(settled.Load()) + 1; {
		case point == crashpoint.SettledWritten:
			settled.Add(1)
		case open < last || shard < 0:
		case point == crashpoint.CountsWritten && shard == 1:
			close(published)
		case point == crashpoint.CountsWriting && shard == 0:
			select {
			case <-published:
			case <-time.After(time.Minute):
				t.Error("nothing is published in the second partition")
			}
			return errors.New("died")
		}
		return nil
	}}
	if _, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true}); err == nil {
		t.Fatal("the run did not die")
	}
}

// remakeCounts deletes the counts topic and makes it again.
func remakeCounts(t *testing.T, d *deployment.Deployment) {
	t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(d.Config.Kafka.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	request := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(d.Config.Outputs.Counts)
	request.TopicNames, request.Topics = []string{d.Config.Outputs.Counts}, append(request.Topics, topic)
	if _, err := request.RequestWith(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, spec := range topicrules.Specs(d, 0, 0) {
		if spec.Name != d.Config.Outputs.Counts {
			continue
		}
		if err := client.CreateTopics(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
}

// Decisions of earlier generations were made under other rules: without the
// snapshot that a change has written, neither a run nor another change goes on.
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
			if _, err := Change(t.Context(), d, ChangeOptions{}); err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 15, 0, time.UTC).UnixMilli()
			appendRecord(t, d, "events", kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"u","key":"a","time":%d}`, at), Timestamp: kafkalog.At(at)})
			if lost == nil {
				ran(t, d)
				return
			}
			appendRecord(t, d, d.Config.Outputs.Ledger, *lost)
			next.Metrics = append([]deployment.Metric{}, next.Metrics...)
			next.Metrics[0].MaxEventsPerKey = 2
			var stop *spend.StopError
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.As(err, &stop) || !strings.Contains(err.Error(), "the snapshot with which this generation began is missing") {
				t.Errorf("another change ended with %v", err)
			}
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.As(err, &stop) {
				t.Errorf("the run ended with %v", err)
			}
		})
	}
}

// With budget periods the time of an event decides whose budget it is counted
// against: one event must not have two.
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
