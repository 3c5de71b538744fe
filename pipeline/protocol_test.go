package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// appendControl writes bodies to control, like another program that ignores the log, and returns
// their offsets.
func appendControl(t *testing.T, d *deployment.Deployment, bodies ...schemas.ControlBody) (offsets []int64) {
	t.Helper()
	for _, b := range bodies {
		value := must.Have(schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: b}))
		offsets = append(offsets, appendRecord(t, d, d.Config.Outputs.Control, kafkalog.Message{Value: value}))
	}
	return offsets
}

func appendRecord(t *testing.T, d *deployment.Deployment, topic string, m kafkalog.Message) int64 {
	t.Helper()
	return appendTo(t, dial(t, d), topic, 0, m)
}

func released(t *testing.T, d *deployment.Deployment) []schemas.Release {
	t.Helper()
	return must.Have(ReadReleases(t.Context(), d))
}

// One of many concurrent inits begins the deployment, with its configuration; the others' HEADERs
// are ignored.
func TestRuleOnlyTheRecordAtOffset0IsAHeader(t *testing.T) {
	t.Parallel()
	cfg := deploytest.Config(deploytest.Start(t).Addr())
	late := 0
	for try := 0; try < 40 && (late == 0 || try < 3); try++ {
		cfg.Deployment = fmt.Sprintf("try%d", try)
		cfg.Events.Topic = cfg.Deployment + "-events"
		const inits = 6
		var deployments [inits]*deployment.Deployment
		for i := range deployments {
			c := cfg
			c.Privacy.Epsilon = float64(1 + i)
			if deployments[i] = mustCompile(t, c); i == 0 {
				must.Succeed(t, CreateTopics(t.Context(), deployments[i], TopicOptions{EventPartitions: 1,
					Replication: 1}))
			}
		}
		var errs [inits]error
		var all sync.WaitGroup
		for i := range deployments {
			all.Go(func() {
				errs[i] = Init(context.Background(), deployments[i], InitOptions{Start: time.Unix(60, 0)})
			})
		}
		all.Wait()
		won, before := 0, late
		for i, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, deployment.ErrInitialised):
				t.Fatalf("init %d: %v", i, err)
			case strings.Contains(err.Error(), "is ignored"):
				late++
			}
		}
		if won != 1 {
			t.Fatalf("%d inits say that they began the deployment", won)
		}
		for i, d := range deployments {
			var warnings bytes.Buffer
			_, err := Run(t.Context(), d, RunOptions{Bounded: true, Logger: deploytest.Logger(&warnings)})
			if errs[i] == nil && err != nil || errs[i] != nil && !errors.Is(err, deployment.ErrHeaderMismatch) {
				t.Fatalf("init said %v and the run %v", errs[i], err)
			}
			if errs[i] == nil && late > before != strings.Contains(warnings.String(), "is a HEADER") {
				t.Errorf("%d HEADERs came late, and the run says:\n%s", late-before, warnings.String())
			}
		}
	}
	if late == 0 {
		t.Error("no HEADER ever came late: nothing was tried")
	}
}

// Foreign records on control, ledger and counts change nothing, and are named with their offsets.
func TestRuleRecordsThatWereNeverOursChangeNothing(t *testing.T) {
	t.Parallel()
	want := released(t, ran(t, tenTurns(t, func(c *deployment.Config) { c.ReleaseShards = 1 })))
	for name, phase := range map[string]string{"before the first run": "init", "while a run goes on": "run"} {
		t.Run(name, func(t *testing.T) {
			d := tenTurns(t, func(c *deployment.Config) { c.ReleaseShards = 1 })
			out := &d.Config.Outputs
			littered := map[string]bool{} // as it is named
			litter := func() {
				for _, topic := range []string{out.Control, out.Ledger, out.Counts} {
					for _, m := range []kafkalog.Message{
						{Value: []byte("hello")}, {Value: []byte{}}, {Key: []byte("k"), Value: nil},
						{Key: []byte("delta/nothing"), Value: []byte("x")},
						{Key: []byte("k"), Value: []byte("x"), Headers: []kafkalog.Header{{Key: schemas.HeaderType,
							Value: []byte(schemas.TypeRelease)}}},
					} {
						littered[fmt.Sprintf("topic %s, partition 0: the record at offset %d ", topic,
							appendRecord(t, d, topic, m))] = true
					}
				}
			}
			if phase == "init" {
				litter()
			}
			var once sync.Once
			hooks := crashpoint.Hooks{At: func(point string, _ int) error {
				if phase == "run" && point == crashpoint.SettledWritten {
					once.Do(litter)
				}
				return nil
			}}
			var warnings bytes.Buffer
			if _, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true,
				Logger: deploytest.Logger(&warnings)}); err != nil {
				t.Fatal(err)
			}
			litter() // the newest record of control is a foreign one, too
			ran(t, d)
			for _, named := range regexp.MustCompile(`topic \S+, partition \d+: the record at offset `+
				`\d+ `).FindAllString(warnings.String(), -1) {
				if !littered[named] {
					t.Errorf("%sis no foreign record", named)
				}
			}
			for _, topic := range []string{out.Control, out.Ledger, out.Counts} {
				if text := warnings.String(); phase == "init" && !strings.Contains(text, "topic "+topic+
					", partition 0: the record at offset ") {
					t.Errorf("nothing was said of topic %s:\n%s", topic, text)
				}
			}
			if diff := cmp.Diff(want, released(t, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ran(t testing.TB, d *deployment.Deployment) *deployment.Deployment {
	t.Helper()
	_, err := Run(t.Context(), d, RunOptions{Bounded: true})
	must.Succeed(t, err)
	return d
}

// A run that was announced first and starts slowly does not supersede one that was announced later:
// it writes only its EPOCH, which is ignored.
func TestRuleTheRunThatWasAnnouncedLastIsTheNewer(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	var epoch int64
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		if point == crashpoint.EpochWriting && epoch == 0 { // a later run is quicker
			run := appendControl(t, d, &schemas.Run{})[0]
			epoch = appendControl(t, d, &schemas.Epoch{Run: run})[0]
		}
		return nil
	}}
	result, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true})
	if err != nil || !result.Superseded || result.Settled != 0 {
		t.Fatalf("%+v, %v: the older run should have been superseded", result, err)
	}
	client := dial(t, d)
	control := must.Have(controllog.Open(t.Context(), client, d.Config.Outputs.Control, d.Config.LedgerSlots,
		slog.New(slog.DiscardHandler)))
	control.WithView(func(v *controllog.View) {
		if v.Epoch != epoch || len(released(t, d)) != 0 {
			t.Errorf("the epoch is %d, want the later run's %d", v.Epoch, epoch)
		}
	})
	ran(t, d) // announced last
}

// A superseded run may find its successor's records: whatever they look like, it ends as superseded
// and writes no valid STOP.
func TestRuleASupersededRunReportsNoLoss(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]string{
		"as soon as it has its epoch": crashpoint.EpochWritten, "when it has closed turns": crashpoint.CloseWritten,
		"when it fences": crashpoint.FenceWriting, "when it writes the ledger": crashpoint.DeltaWriting,
		"when it publishes": crashpoint.CountsWriting, "when it settles": crashpoint.SettledWriting,
	} {
		t.Run(name, func(t *testing.T) {
			d := tenTurns(t, func(c *deployment.Config) { c.ReleaseShards = 1 })
			var once sync.Once
			hooks := crashpoint.Hooks{At: func(reached string, _ int) error {
				if reached != point {
					return nil
				}
				once.Do(func() {
					run := appendControl(t, d, &schemas.Run{})[0]
					appendControl(t, d, &schemas.Epoch{Run: run})
				})
				return fmt.Errorf("reading the ledger: %w", &spend.StopError{Turn: 1,
					Reason: "it does not hold the turn", Err: deployment.ErrLogFault})
			}}
			result, err := Run(crashpoint.With(t.Context(), hooks), d, RunOptions{Bounded: true})
			if err != nil || !result.Superseded {
				t.Fatalf("%+v, %v: it should have been superseded and no more", result, err)
			}
			ran(t, d)
			if n := len(released(t, d)); n != 30 {
				t.Errorf("%d values, want 30", n)
			}
		})
	}
}

func mustCompile(t testing.TB, cfg deployment.Config) *deployment.Deployment {
	t.Helper()
	return must.Have(deployment.Compile(cfg))
}

// A foreign record under a key of the ledger may have replaced one of ours. A run that needs the
// record stops, with a STOP that names it; no other run does.
func TestRuleAReplacedLedgerRecordIsMissedWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key  string
		says string
	}{
		"a turn that is not in a snapshot yet": {"delta/3/0", "the ledger has a gap: this turn is settled but its " +
			"decisions are missing"},
		"a slot that no turn has used": {"delta/60/0", ""},
		"a part that no set has":       {"delta/3/7", ""},
		"a snapshot that is not there": {"snapshot/1/0", ""},
		"a fence":                      {"fence", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := ran(t, tenTurns(t, func(c *deployment.Config) { c.Shards, c.ReleaseShards = 1, 1 }))
			appendRecord(t, d, d.Config.Outputs.Ledger, kafkalog.Message{Key: []byte(test.key),
				Value: []byte("another program's")})
			millis := time.Date(2026, 1, 1, 0, 0, 15, 0, time.UTC).UnixMilli()
			appendRecord(t, d, "events", kafkalog.Message{Value: fmt.Appendf(nil, `{"user":"u","key":"a","time":%d}`,
				millis), Timestamp: kafkalog.At(millis)})
			var warnings bytes.Buffer
			_, err := Run(t.Context(), d, RunOptions{Bounded: true, Logger: deploytest.Logger(&warnings)})
			if !strings.Contains(warnings.String(), "topic tollgate-ledger, partition 0: the record at offset ") {
				t.Errorf("nothing was said of the record:\n%s", warnings.String())
			}
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var stop *spend.StopError
			if !errors.As(err, &stop) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("the run ended with %v, want a stop that says %q", err, test.says)
			}
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.Is(err, deployment.ErrStopped) {
				t.Errorf("the next run ended with %v, want ErrStopped", err)
			}
		})
	}
}
