package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// With events.no_user: each, every record without a user has an account that no other record and no
// user shares, even if restarts read it again: no such record is refused because of another's
// charges.
func TestRuleARecordWithoutAUserIsAUserOfItsOwn(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, startBrokerProcess(t), "unnamed", 2, tight, func(c *pipeline.Config) {
		c.Events.Format.NoUser = event.NoUserEach
	})
	random := rand.New(rand.NewPCG(runseed.Shared(41), 1))
	all, unnamed := calm(41).arrivals(), 0
	for i := range all {
		a, user := &all[i], ""
		switch random.IntN(6) {
		case 0:
			user = `"user":null,`
		case 1:
			user = `"user":"",`
		case 2:
		default:
			continue
		}
		unnamed++
		a.value = fmt.Appendf(nil, `{%s"page":"p%02d","ts":%d}`, user, random.IntN(4), a.stamp)
	}
	d.load(scatter(all, 2, 41))
	d.crashAt(crashpoint.CloseWritten, 3, 0) // its events are read again
	d.crashAt(crashpoint.DeltaWritten, 5, 1) // and some shards' deltas
	d.drainAtRandom(random, 1, 3)
	d.verify()
	if got := len(d.verified.accounts); got < unnamed {
		t.Errorf("%d accounts, but %d records without a user", got, unnamed)
	}
	if r := d.report(); int(r.Accepted) != len(all) {
		t.Errorf("of %d records %d were accepted", len(all), r.Accepted)
	}
}
