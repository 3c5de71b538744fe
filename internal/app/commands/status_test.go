package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// status describes a deployment before its first run and after it, without reading its keys, and
// reports one that does not exist.
func TestStatusIsWhatControlSays(t *testing.T) {
	t.Parallel()
	long.Test(t)
	addr := commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, addr)
	if code, stdout, stderr := tollgate(t, "status", "--config", cfg); code != command.ExitError || stdout != "" ||
		!strings.Contains(stderr, "begin the deployment with tollgate init") {
		t.Errorf("before init: exit %d, %s%s", code, stdout, stderr)
	}
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "2", "--start",
		"2025-03-01T00:00:00Z")
	stdout, _ := mustRun(t, "status", "--config", cfg)
	for _, want := range []string{"deployment  shop, generation 1: (4, 1e-06)-differential privacy\n",
		"published   nothing yet; time begins at 2025-03-01", "next        by 20", "format      control log " +
			strconv.Itoa(schemas.FormatVersions()[0].Version), "run         none has begun"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("status does not say %q: %s", want, stdout)
		}
	}
	noiseKey := filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")
	unreadable := func() { // even for root: it is a directory now
		t.Helper()
		must.Succeed(t, errors.Join(os.Rename(noiseKey, noiseKey+".away"), os.Mkdir(noiseKey, 0o700)))
	}
	unreadable() // who writes events needs no key either
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	must.Succeed(t, errors.Join(os.Remove(noiseKey), os.Rename(noiseKey+".away", noiseKey)))
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")
	if stdout, _ := mustRun(t, "statement", "person-1", "--config", cfg); !strings.Contains(stdout,
		"of the budget: all values together are ε = ") || strings.Contains(stdout, "person-") {
		t.Errorf("a statement: %s", stdout)
	}
	if stdout, _ := mustRun(t, "audit", "--config", cfg); !strings.HasSuffix(stdout,
		"everything was checked, nothing differs\n") || strings.Contains(stdout, "person-") {
		t.Errorf("an audit: %s", stdout)
	}
	noise := must.Have(os.ReadFile(noiseKey))
	must.Succeed(t, os.WriteFile(noiseKey, bytes.Replace(noise, noise[:4], []byte("0000"), 1), 0o600))
	if code, stdout, stderr := tollgate(t, "audit", "--config", cfg); code != command.ExitUnchecked ||
		!strings.Contains(stdout, "unchecked  turns 1 to ") || !strings.Contains(stdout, "is likely wrong") {
		t.Errorf("an audit with another noise key: exit %d, %s%s", code, stdout, stderr)
	}
	must.Succeed(t, os.WriteFile(noiseKey, noise, 0o600))
	text := must.Have(os.ReadFile(cfg))
	other := filepath.Join(filepath.Dir(cfg), "other.yaml")
	must.Succeed(t, os.WriteFile(other, bytes.Replace(text, []byte("epsilon: 4"), []byte("epsilon: 8"), 1), 0o600))
	if code, _, stderr := tollgate(t, "audit", "--config", other); code != command.ExitConfig ||
		!strings.Contains(stderr, "privacy.epsilon: in force 4, configured 8") ||
		!strings.Contains(stderr, "restore the values in force") {
		t.Errorf("an audit with a configuration that is not in force: exit %d, %s", code, stderr)
	}
	unreadable()
	stdout, stderr := mustRun(t, "status", "--config", cfg, "--format", "json")
	var s pipeline.Status
	must.Succeed(t, json.Unmarshal([]byte(stdout), &s))
	if s.Settled < 4 || s.Closed < s.Settled || s.SettledTo.Before(s.Start) || s.SettledAt == nil || s.Run < 1 ||
		s.Epoch <= s.Run || s.Stop != nil || s.Generation != 1 || stderr != "" {
		t.Errorf("%s%s", stdout, stderr)
	}
	stdout, _ = mustRun(t, "status", "--config", cfg)
	// two dead letters: fewer than ten
	if strings.Contains(stdout, "broken") || s.DeadLetters != "none" || s.DeadLetterTurns == 0 {
		t.Errorf("%s, %+v", stdout, s)
	}
	if !strings.Contains(stdout, "published   counts of events before 2025-03-0") || strings.Contains(stdout,
		"person-") ||
		strings.Contains(stdout, "north") {
		t.Errorf("%s", stdout)
	}
	// Nothing is promised of a run that has ended.
	if !s.Ended || !strings.Contains(stdout, "the last one has ended\n") && !strings.Contains(stdout,
		"the last run has ended, and the next one will release these turns\n") || !strings.HasSuffix(stdout,
		"; it has ended\n") {
		t.Errorf("ended: %v, %s", s.Ended, stdout)
	}
	// The events are of long ago, and their counts came just now.
	if code, stdout, stderr := tollgate(t, "status", "--config", cfg, "--max-lag", "1h"); code != command.ExitOK ||
		strings.Contains(stdout, "due since") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}

	stop := must.Have(schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &schemas.Stop{Epoch: s.Epoch,
		Turn: s.Settled + 1, Reason: "ledger and control differ"}}))
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}}))
	defer client.Close()
	p := must.Have(client.NewProducer(t.Context(), "shop-control", 0, ""))
	defer p.Close()
	if _, err := p.Append(t.Context(), []kafkalog.Message{{Value: stop}}); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := tollgate(t, "status", "--config", cfg)
	if code != command.ExitError || !strings.Contains(stdout, "STOPPED     at turn") || !strings.Contains(stdout,
		"ledger and control differ") || !strings.Contains(stderr, "then run tollgate recover") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	must.Succeed(t, errors.Join(os.Remove(noiseKey), os.Rename(noiseKey+".away", noiseKey)))
	mustRun(t, "recover", "--config", cfg, "--by", "Ada")
	for _, want := range []string{"values stay", "(and had been forgotten before)"} {
		stdout, _ := mustRun(t, "forget", "person-1", "--config", cfg, "--by", "Ada", "--why", "request 12")
		if !strings.Contains(stdout, want) || strings.Contains(stdout, "person-") ||
			!strings.Contains(stdout, `{"version": 1, "partitions": [{"topic": "`) {
			t.Errorf("forget: %s", stdout)
		}
	}
	if stdout, _ := mustRun(t, "statement", "person-1", "--config", cfg); !strings.Contains(stdout, "was removed") {
		t.Errorf("the statement of a forgotten user: %s", stdout)
	}
	// A mistyped id is not taken for a person who was there.
	if stdout, _ := mustRun(t, "forget", "Person-1", "--config", cfg, "--by", "Ada", "--why", "request 12"); !strings.
		Contains(stdout, "is the id right?") {
		t.Errorf("forget of an id that nobody has: %s", stdout)
	}
}
