package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// endOf returns the end of a topic's first partition.
func endOf(t *testing.T, d *deployment.Deployment, topic string) int64 {
	t.Helper()
	return must.Have(dial(t, d).Offsets(t.Context(), topic, 0)).High
}

// A change is refused before it supersedes a run: control, which would end the run, is unchanged.
func TestRuleARefusedChangeWritesNothing(t *testing.T) {
	t.Parallel()
	elsewhere := func(c *deployment.Config) { c.Outputs.Ledger = "other-ledger" }
	for name, test := range map[string]struct {
		before func(*testing.T, *deployment.Deployment)
		change func(*deployment.Config)
		want   error
	}{
		"a turn is under way": {before: func(t *testing.T, d *deployment.Deployment) { diesBeforeSettling(t, d, 3) },
			want: deployment.ErrInterruptedTurn},
		"decisions are lost": {before: func(t *testing.T, d *deployment.Deployment) {
			diesBeforeSettling(t, d, 3)
			appendRecord(t, d, d.Config.Outputs.Ledger, kafkalog.Message{Key: []byte("delta/3/0")})
		}, want: deployment.ErrLogFault},
		"counts are gone": {before: func(t *testing.T, d *deployment.Deployment) { ran(t, d); remakeCounts(t, d) },
			want: deployment.ErrLogFault},
		"a STOP": {before: func(t *testing.T, d *deployment.Deployment) {
			appendControl(t, d, &schemas.Stop{Epoch: -1, Turn: 1, Reason: "a test"})
		}, want: deployment.ErrStopped},
		"a topic is missing": {before: func(t *testing.T, d *deployment.Deployment) { ran(t, d) }, change: elsewhere,
			want: deployment.ErrTopicSettings},
		"it can never be": {before: func(t *testing.T, d *deployment.Deployment) { ran(t, d) },
			change: func(c *deployment.Config) { c.Privacy.Epsilon = 2 }, want: deployment.ErrHeaderMismatch},
		"the topics fail": {before: func(t *testing.T, d *deployment.Deployment) { ran(t, d) }, change: elsewhere,
			want: errTopics},
		"too large to write": {before: func(t *testing.T, d *deployment.Deployment) { ran(t, d) }, change: manyKeys,
			want: kafkalog.ErrTooLarge},
		"another's new ledger": {before: func(t *testing.T, d *deployment.Deployment) {
			ran(t, d)
			other := *d
			other.Config.Outputs.Ledger = "other-ledger"
			if err := CreateTopics(t.Context(), &other, TopicOptions{}); err != nil && !errors.Is(err,
				kafkalog.ErrTopicExists) {
				t.Fatal(err)
			}
			records := must.Have(schemas.EncodeSnapshot(schemas.Snapshot{Turn: 10, Epoch: 1}, 0, 1<<19))
			for _, r := range records {
				appendRecord(t, d, "other-ledger", kafkalog.Message{Key: r.Key, Value: r.Value})
			}
		}, change: elsewhere, want: deployment.ErrTopicSettings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, next := bounded(t, func(*deployment.Config) {})
			test.before(t, d)
			if test.change != nil {
				test.change(&next)
			}
			control, o := endOf(t, d, d.Config.Outputs.Control), ChangeOptions{}
			if errors.Is(test.want, errTopics) {
				o.MakeTopics = func(context.Context) error { return errTopics }
			}
			if _, err := Change(t.Context(), mustCompile(t, next), o); !errors.Is(err, test.want) {
				t.Errorf("the change ended with %v, want %v", err, test.want)
			}
			if end := endOf(t, d, d.Config.Outputs.Control); end != control {
				t.Errorf("control grew from %d to %d", control, end)
			}
		})
	}
	for name, meanwhile := range map[string]func(*testing.T, *deployment.Deployment, deployment.Config){
		"a run was started": func(t *testing.T, d *deployment.Deployment, _ deployment.Config) {
			appendControl(t, d, &schemas.Run{ID: [16]byte{9}})
		},
		"another change was made": func(t *testing.T, _ *deployment.Deployment, next deployment.Config) {
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); err != nil {
				t.Errorf("the other change ended with %v", err)
			}
		},
	} {
		t.Run(name+" meanwhile", func(t *testing.T) {
			t.Parallel()
			d, next := bounded(t, func(*deployment.Config) {})
			ran(t, d)
			var control int64
			o := ChangeOptions{MakeTopics: func(context.Context) error {
				meanwhile(t, d, next)
				control = endOf(t, d, d.Config.Outputs.Control)
				return nil
			}}
			if _, err := Change(t.Context(), mustCompile(t, next), o); !errors.Is(err, deployment.ErrSuperseded) {
				t.Errorf("the change ended with %v, want %v", err, deployment.ErrSuperseded)
			}
			if end := endOf(t, d, d.Config.Outputs.Control); end != control {
				t.Errorf("control grew from %d to %d", control, end)
			}
		})
	}
}

var (
	errTopics = errors.New("the topics cannot be made")
	errRecord = errors.New("the record refuses")
)

// manyKeys gives a configuration more public keys than a record of control has room for.
func manyKeys(c *deployment.Config) {
	var list []string
	for i := range 3000 {
		list = append(list, strings.Repeat("k", 400)+string(rune('0'+i/1000))+string(rune('0'+i/100%10))+
			string(rune('0'+i/10%10))+string(rune('0'+i%10)))
	}
	c.Metrics[0].Keys.List = list
}

// A refused deployment is not recorded beside the noise key.
func TestARefusedInitIsNotRecorded(t *testing.T) {
	t.Parallel()
	d := mustCompile(t, deploytest.Config(deploytest.Start(t).Addr()))
	must.Succeed(t, CreateTopics(t.Context(), d, TopicOptions{EventPartitions: 1}))
	recorded := 0
	commit := func(err error) InitOptions {
		return InitOptions{Commit: func() error { recorded++; return err }}
	}
	if err := Init(t.Context(), d, commit(errRecord)); !errors.Is(err, errRecord) || recorded != 1 ||
		endOf(t, d, d.Config.Outputs.Control) != 0 {
		t.Errorf("init ended with %v after %d records, and control ends at %d", err, recorded,
			endOf(t, d, d.Config.Outputs.Control))
	}
	appendRecord(t, d, d.Config.Outputs.Turns, kafkalog.Message{Value: []byte("another program's")})
	if err := Init(t.Context(), d, commit(nil)); !errors.Is(err, deployment.ErrLogFault) || recorded != 1 {
		t.Errorf("init ended with %v after %d records", err, recorded)
	}
}
