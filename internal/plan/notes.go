package plan

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/state"
)

// notes are sentences on how to read the counts and the table of metrics.
func notes(d *pipeline.Deployment) []string {
	var out []string
	if slices.ContainsFunc(d.Metrics, func(m pipeline.CompiledMetric) bool { return m.Spec.KeyMode == pipeline.KeysPrivate }) {
		out = append(out, "a private key near its threshold is released only when its noise is high: such counts are biased up")
	}
	if most := deployment.PeriodsInAWindow(d); most > 1 {
		out = append(out, fmt.Sprintf("a window reaches into up to %d periods and is moved by what a user did in all of them: over several periods that is more than their budgets add up to, as said above. It is not where the period is a multiple of every window and no window slides", most))
	}
	if b := d.Budget; b.Keys.IsZero() {
		out = append(out, noReserve(b))
	}
	if !deployment.LastAtLeastFits(d) {
		out = append(out, "last_at_least asks for more windows, over all metrics, than the budget pays for at the given ladder.sigma: who uses the bounds to the full is left out earlier")
	}
	return out
}

// noReserve says what can never be changed where no part of δ is kept for private keys,
// and what it would cost to keep some.
func noReserve(b state.Budget) string {
	text := strconv.FormatFloat(b.Delta/10, 'g', 2, 64)
	out := "a deployment that begins with this configuration can never add a metric with private keys: none of δ is reserved for one. To keep that open begin it with privacy.delta_keys: " + text
	tenth, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return out
	}
	if reserved, err := state.NewBudget(b.Epsilon, b.Delta, b.Accountant, tenth); err == nil {
		out += fmt.Sprintf(", which takes %.2g %% of what users may spend", 100*(1-reserved.Mu2.Float()/b.Mu2.Float()))
	}
	return out
}

// limits are sentences on what a configuration does not protect.
func limits(cfg *pipeline.Config) []string {
	out := []string{
		"several ids of one person are several users",
		"targets, bounds and filters that were chosen by looking at the data",
		"whoever has the noise key, or can write to the deployment's own topics, is outside of the promise",
		"counts are of admitted events: users who have spent their budget are missing",
	}
	for i := range cfg.Metrics {
		if cfg.Metrics[i].Keys.Mode == pipeline.KeysPublic {
			out = append(out, "a list of public keys that was made by looking at the data")
			break
		}
	}
	if cfg.Time.Trust == pipeline.TrustProducer {
		out = append(out, "times are believed: a producer that writes wrong ones can move events into other windows, and make others late")
	}
	if cfg.Privacy.Period > 0 {
		out = append(out, "the promise is to a user in one period: whoever looks at several of them learns more, as said above")
	}
	return out
}
