package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// A weakened promise on control, as a program that allowed it has written it.
func TestRuleAWeakenedPromiseIsNoticed(t *testing.T) {
	t.Parallel()
	budget := func(epsilon, delta, keys float64) budgets.Budget {
		b, err := budgets.NewBudget(epsilon, delta, budgets.GDP, keys)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ctx := context.Background()
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	d := deploy(t, deploytest.Config(broker.Addr()), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 1)
	for i, b := range []budgets.Budget{budget(0.9, 1e-6, 0), budget(0.9, 1e-6, 9e-7), budget(0.9, 1e-6, 9e-7)} {
		if err := CheckTopics(ctx, d, CheckOptions{}); err != nil && i < 2 {
			t.Fatal(err)
		}
		writeGeneration(t, d, b)
	}
	cfg := deploytest.Config(broker.Addr())
	cfg.Privacy = deployment.Privacy{Epsilon: 0.9, Delta: 1e-6, DeltaKeys: 9e-7}
	if d, err = deployment.Compile(cfg); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"run":         func() error { _, err := Run(ctx, d, RunOptions{Bounded: true}); return err },
		"validate":    func() error { return CheckTopics(ctx, d, CheckOptions{}) },
		"change":      func() error { _, err := Change(ctx, d, ChangeOptions{}); return err },
		"the dry run": func() error { _, err := Change(ctx, d, ChangeOptions{DryRun: true}); return err },
	} {
		err := do()
		if !errors.Is(err, deployment.ErrPromiseWeakened) || !strings.Contains(err.Error(), "generation 1 promised (1, 1e-06)") || !strings.Contains(err.Error(), "(1, 1.899999") {
			t.Errorf("%s: %v", what, err)
		}
	}
	cfg.Deployment, cfg.Events.Topic = "another", "others" // under other keys
	cfg.Keys.Noise = []noisereduction.NoiseKey{{ID: "k1", Secret: secret.New([32]byte{9})}}
	cfg.Keys.UserHash = secret.New([32]byte{10})
	if _, err := Run(ctx, deploy(t, cfg, time.Now(), 1), RunOptions{Bounded: true}); err != nil {
		t.Errorf("another deployment: %v", err)
	}
}

// writeGeneration puts a budget in force without asking whether it may be.
func writeGeneration(t *testing.T, d *deployment.Deployment, b budgets.Budget) {
	t.Helper()
	ctx := context.Background()
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	control, err := controllog.Open(ctx, client, d.Config.Outputs.Control, d.Config.LedgerSlots, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Announce(ctx); err != nil {
		t.Fatal(err)
	}
	w, err := controllog.NewWriter(ctx, control)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	epoch, err := w.Append(ctx, &schemas.Epoch{RunID: control.RunID, Run: control.Run})
	if err != nil {
		t.Fatal(err)
	}
	want := *control.Header
	want.Budget = b
	next := changes.Succeed(control.Header, &want, 1, control.Header.SliceStart, nil)
	if _, err := w.Append(ctx, &schemas.Generation{Epoch: epoch[0], CountsEnd: make([]int64, next.ReleaseShards), Header: next}); err != nil {
		t.Fatal(err)
	}
}
