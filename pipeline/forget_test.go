package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Under another budget period, forget would drop the accounts of everybody in the shard; under
// another name, the broker would not refuse older runs. Under another period a statement shows no
// account.
func TestRuleForgetTakesTheConfigurationInForceOnly(t *testing.T) {
	t.Parallel()
	var cfg deployment.Config
	d := tenTurns(t, func(c *deployment.Config) {
		c.Privacy.Period, c.Privacy.Lasts = 20*time.Second, 0
		cfg = *c
	})
	ran(t, d)
	before := must.Have(ReadStatement(t.Context(), d, []byte("u1")))
	if len(before.Accounts) == 0 {
		t.Fatal("the user has no account")
	}
	for name, edit := range map[string]func(c *deployment.Config){
		"period": func(c *deployment.Config) { c.Privacy.Period = time.Second },
		"name":   func(c *deployment.Config) { c.Deployment, c.Outputs = "other", d.Config.Outputs },
	} {
		edited := cfg
		edit(&edited)
		other := mustCompile(t, edited)
		o := ForgetOptions{By: "Ada", Why: "request 12"}
		if _, err := Forget(t.Context(), other, []byte("nobody"), o); !errors.Is(err, ErrHeaderMismatch) {
			t.Errorf("forget with another %s: %v", name, err)
		}
		if _, err := ReadStatement(t.Context(), other, []byte("u1")); name == "period" &&
			!errors.Is(err, ErrHeaderMismatch) {
			t.Errorf("statement with another %s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, must.Have(ReadStatement(t.Context(), d, []byte("u1")))); diff != "" {
		t.Error(diff)
	}
}

// A user can be forgotten before the first turn is settled, and a change before that turn keeps the
// mark, also on another ledger topic and if it is repeated.
func TestRuleAMarkOutlivesAChangeBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	var cfg deployment.Config
	d := tenTurns(t, func(c *deployment.Config) { cfg = *c })
	o := ForgetOptions{By: "Ada", Why: "request 12"}
	must.Have(Forget(t.Context(), d, []byte("u1"), o))
	for _, topic := range []string{"ledger-2", "ledger-3"} {
		cfg.Outputs.Ledger = topic
		d = mustCompile(t, cfg)
		if err := CreateTopics(t.Context(), d, TopicOptions{}); !errors.Is(err, kafkalog.ErrTopicExists) {
			t.Fatal(err)
		}
		must.Have(Change(t.Context(), d, ChangeOptions{}))
	}
	ran(t, d)
	if s := must.Have(ReadStatement(t.Context(), d, []byte("u1"))); len(s.Accounts) > 0 {
		t.Errorf("the user counts: %+v", s)
	}
	if s := must.Have(ReadStatement(t.Context(), d, []byte("u2"))); len(s.Accounts) == 0 {
		t.Error("nobody else counts")
	}
}

// After a change that has given up windows, forget also removes their slices, even if their metrics
// are not in force any more.
func TestForgetAfterWindowsWereGivenUp(t *testing.T) {
	t.Parallel()
	var cfg deployment.Config
	d := tenTurns(t, func(c *deployment.Config) {
		c.Metrics[0].Window, c.Metrics[0].Slide = 2*time.Second, time.Second
		cfg = *c
	})
	must.Have(Run(t.Context(), d, RunOptions{Until: time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC)}))
	more := cfg.Metrics[0]
	more.Name = "more"
	cfg.Metrics = append([]deployment.Metric{more}, cfg.Metrics...)
	d = mustCompile(t, cfg)
	must.Have(Change(t.Context(), d, ChangeOptions{Now: true}))
	must.Have(Forget(t.Context(), d, []byte("u29"), ForgetOptions{By: "Ada", Why: "request 12"}))
	ran(t, d)
}
