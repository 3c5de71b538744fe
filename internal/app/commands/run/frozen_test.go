package run

import (
	"net"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// A run that is told to end does not wait for the tallies of its start.
func TestARunThatIsToEndDoesNotWaitForTallies(t *testing.T) {
	t.Parallel()
	frozen := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	defer frozen.Close()
	d := must.Have((&command.App{}).Load(commandtest.DeploymentFile(t, frozen.Addr().String()),
		config.Options{MissingKeys: true}))
	drain := make(chan struct{})
	close(drain)
	l, began := losses{wanted: true, d: d.Deployment}, time.Now()
	if l.begin(t.Context(), drain); l.failed == nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), l.failed)
	}
}
