package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// bounded is a deployment of one shard with windows of a second, and the
// configuration with other bounds that a change puts in force.
func bounded(t *testing.T, change func(*Config)) (d *Deployment, next Config) {
	t.Helper()
	var cfg Config
	d = tenTurns(t, func(c *Config) {
		c.Shards, c.ReleaseShards = 1, 1
		change(c)
		cfg = *c
	})
	next = cfg
	next.Metrics = append([]Metric{}, cfg.Metrics...)
	next.Metrics[0].MaxEventsPerKey = 1
	return d, next
}

// What was published of a turn that is not settled is charged by its decisions on
// the ledger. Where those are lost a change would publish other values for the same
// windows, and nobody would be charged for the first: it is refused, as a run is.
func TestRuleAChangeGoesOverNoPublishedTurn(t *testing.T) {
	for name, lost := range map[string]*klog.Message{
		"lost to a record of somebody else": {Key: []byte("delta/3/0"), Value: []byte("somebody else's")},
		"lost to a tombstone":               {Key: []byte("delta/3/0")},
		"still there":                       nil,
	} {
		t.Run(name, func(t *testing.T) {
			d, next := bounded(t, func(*Config) {})
			turn := 0
			hooks := Hooks{At: func(point string, _ int) error {
				if point == PointSettledWriting {
					if turn++; turn == 3 {
						return errors.New("died")
					}
				}
				return nil
			}}
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true, Hooks: hooks}); err == nil {
				t.Fatal("the run did not die")
			}
			want := ErrInterruptedTurn
			if lost != nil {
				appendRecord(t, d, d.cfg.Outputs.Ledger, *lost)
				want = ErrLogFault
			}
			var warnings bytes.Buffer
			_, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{Logger: logged(&warnings)})
			if !errors.Is(err, want) {
				t.Errorf("the change ended with %v, want %v", err, want)
			}
			if named := strings.Contains(warnings.String(), "topic tollgate-ledger, partition 0: the record at offset "); named != (lost != nil) {
				t.Errorf("the change said:\n%s", warnings.String())
			}
		})
	}
}

// Decisions of earlier generations were made under other rules: without the
// snapshot that a change has written, nobody goes on, neither a run nor another
// change.
func TestRuleAGenerationNeedsTheSnapshotThatItBeganWith(t *testing.T) {
	for name, lost := range map[string]*klog.Message{
		"lost to a record of somebody else": {Key: []byte("snapshot/0/0"), Value: []byte("somebody else's")},
		"lost to a tombstone":               {Key: []byte("snapshot/0/0")},
		"still there":                       nil,
	} {
		t.Run(name, func(t *testing.T) {
			d, next := bounded(t, func(*Config) {})
			ran(t, d)
			d = mustCompile(t, next)
			if _, err := Change(t.Context(), d, ChangeOptions{}); err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 15, 0, time.UTC).UnixMilli()
			appendRecord(t, d, "events", klog.Message{Value: fmt.Appendf(nil, `{"user":"u","key":"a","time":%d}`, at), Timestamp: klog.At(at)})
			if lost == nil {
				ran(t, d)
				return
			}
			appendRecord(t, d, d.cfg.Outputs.Ledger, *lost)
			next.Metrics = append([]Metric{}, next.Metrics...)
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
	for period, want := range map[time.Duration]error{0: nil, 2 * time.Second: ErrHeaderMismatch} {
		for name, change := range map[string]func(*Config){
			"its field": func(c *Config) { c.Events.Format.Time = "received" },
			"its unit":  func(c *Config) { c.Events.Format.TimeUnit = "s" },
		} {
			d, next := bounded(t, func(c *Config) { c.Privacy.Period = period })
			ran(t, d)
			change(&next)
			next.Metrics[0].Name = "views2"
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.Is(err, want) {
				t.Errorf("periods of %v, %s: the change ended with %v, want %v", period, name, err, want)
			}
		}
	}
}
