package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// A drain while no broker responds ends within ten seconds, in the middle of a turn as well:
// nothing is open that the next run would not redo.
func TestRuleADrainWithoutABrokerEndsSoon(t *testing.T) {
	t.Parallel()
	long.Test(t)
	for name, k := range map[string]struct {
		change func(*deployment.Config)
		point  string // passed so many times when the broker disappears
		times  int64
	}{
		"between turns": {func(*deployment.Config) {}, crashpoint.SettledWritten, 3},
		// by every shard
		"waiting to publish": {func(c *deployment.Config) { c.Outputs.PublishEvery = time.Hour },
			crashpoint.DeltaWritten, 4},
		"in the next window": {func(c *deployment.Config) { c.Time.IdleGrace = 24 * time.Hour },
			crashpoint.SettledWritten, 3},
	} {
		t.Run(name, func(t *testing.T) {
			broker := deploytest.Start(t)
			cfg := deploytest.Config(broker.Addr())
			k.change(&cfg)
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			d := deploy(t, cfg, start, 1)
			appendEvents(t, broker.Addr(), eventsEvery(6*time.Second, start, 100)...)
			var passed atomic.Int64
			drain := make(chan struct{})
			var ended time.Duration
			over := make(chan error, 1)
			go func() {
				hooks := crashpoint.Hooks{At: func(point string, _ int) error {
					if point == k.point {
						passed.Add(1)
					}
					return nil
				}}
				_, err := Run(crashpoint.With(context.Background(), hooks), d, RunOptions{Drain: drain})
				over <- err
			}()
			await.That(t, time.Minute, "the run is in the middle of its work", func() bool {
				return passed.Load() >= k.times
			})
			broker.Close()
			begin := time.Now()
			close(drain)
			err := <-over
			ended = time.Since(begin)
			if !errors.Is(err, deployment.ErrNoBroker) || !strings.Contains(err.Error(), "the next run will redo") {
				t.Errorf("the run ended with %v", err)
			}
			// kafkalog gives up after 5 s to 7 s; supervisors kill after 10 s.
			if ended > 10*time.Second {
				t.Errorf("it took %v", ended)
			}
			t.Logf("%v: %v", ended, err)
		})
	}
}

// waitsUpTo is how long a start waits, of three seconds.
var waitsUpTo = regexp.MustCompile(`no broker (answers|has answered yet), waiting for one for up to ` +
	`([12]\.\d|[0-3]|\d00m)s`)

// A start during a broker's restart waits for it, and logs that at once.
func TestRuleAStartWaitsForItsBroker(t *testing.T) {
	t.Parallel()
	free := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	addr := free.Addr().String()
	free.Close()
	d := mustCompile(t, deploytest.Config(addr))
	out := &await.Buffer{}
	log := slog.New(slog.NewTextHandler(out, nil))

	if _, err := AwaitBroker(t.Context(), d, 0, log); !errors.Is(err, kafkalog.ErrUnreachable) || out.String() != "" {
		t.Errorf("without waiting: %v, %s", err, out)
	}
	began := time.Now()
	_, err := AwaitBroker(t.Context(), d, 3*time.Second, log)
	if took := time.Since(began); took < 3*time.Second || took > time.Minute { // dials take some time, too
		t.Errorf("it waited for %v", took)
	}
	if !errors.Is(err, deployment.ErrNoBroker) || !errors.Is(err, kafkalog.ErrUnreachable) ||
		!waitsUpTo.MatchString(out.String()) || strings.Contains(err.Error(), "SASL") {
		t.Errorf("a wait that is over: %v, %s", err, out)
	}

	out = &await.Buffer{}
	over := make(chan error, 1)
	go func() {
		client, err := AwaitBroker(t.Context(), d, time.Minute, slog.New(slog.NewTextHandler(out, nil)))
		if err == nil {
			client.Close()
		}
		over <- err
	}()
	await.That(t, time.Minute, "the wait for a broker is logged", func() bool {
		return strings.Contains(out.String(), "no broker answers")
	})
	broker := must.Have(embedded.Start(embedded.Options{Addr: addr}))
	defer broker.Close()
	if err := <-over; err != nil || !strings.Contains(out.String(), "a broker answers after") {
		t.Errorf("%v, %s", err, out)
	}

	wrong := deploytest.Config(addr)
	wrong.Kafka.SASL = &deployment.SASL{Mechanism: "plain", User: "u", Password: secret.New("p")}
	refused := mustCompile(t, wrong)
	if _, err := AwaitBroker(t.Context(), refused, time.Hour, slog.New(slog.DiscardHandler)); !errors.Is(err,
		kafkalog.ErrRefused) {
		t.Errorf("what is no matter of waiting: %v", err)
	}
}
