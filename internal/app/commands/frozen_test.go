package commands

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Every command that asks a broker says within seconds that none has answered yet, where a frozen
// one accepts the connection and says nothing.
func TestEveryCommandSaysThatItWaitsForAFrozenBroker(t *testing.T) {
	t.Parallel()
	frozen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { frozen.Close() })
	cfg := deploymentFile(t, frozen.Addr().String())
	madeKeys(t, cfg, 0o600)
	for _, command := range [][]string{
		{"init"}, {"validate"}, {"change"}, {"status"}, {"recover", "--by", "x"},
		{"replay", "--input", visits(t, true), "--header"}, {"run", "--wait-for-broker", "0"}, {"run"},
	} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b := beginUnder(ctx, nil, append(command, "--config", cfg)...)
			says(t, &b.stderr, "no broker has answered yet, waiting for one")
			select {
			case code := <-b.over:
				t.Errorf("it ends first: exit %d", code)
			default:
			}
			cancel()
			<-b.gone
		})
	}
}

// A run that is told to end does not wait for the tallies of its start.
func TestARunThatIsToEndDoesNotWaitForTallies(t *testing.T) {
	t.Parallel()
	frozen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	d, err := (&app{}).load(deploymentFile(t, frozen.Addr().String()), config.Options{MissingKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	drain := make(chan struct{})
	close(drain)
	l, began := losses{wanted: true, d: d.Deployment}, time.Now()
	if l.begin(t.Context(), drain); l.failed == nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), l.failed)
	}
}
