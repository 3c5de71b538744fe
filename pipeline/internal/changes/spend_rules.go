package changes

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Rules returns the admission rules of the generation with header h: the generation of d, or an
// earlier one that is being wound up.
func Rules(d *deployment.Deployment, h *schemas.Header) (*spend.Rules, error) {
	rules, err := spend.NewRules(h.Budget, d.Config.Keys.UserHash.Reveal(), h.Metrics, int(h.Shards),
		int(h.ReleaseShards), int(h.LedgerSlots))
	if err != nil {
		return nil, fmt.Errorf("preparing the rules of generation %d: %w", h.Generation, err)
	}
	rules.From, rules.Before, rules.Begins = h.FromTurn, h.Before, wallclock.Of(h.Zone).Begins(h.SliceStart)
	return rules, nil
}
