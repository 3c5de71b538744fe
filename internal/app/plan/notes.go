package plan

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// notes returns sentences that explain the counts and the table of metrics.
func notes(d *deployment.Deployment) []string {
	var out []string
	if slices.ContainsFunc(d.Metrics, func(m deployment.CompiledMetric) bool {
		return m.Spec.KeyMode == deployment.KeysPrivate
	}) {
		out = append(out, "a private key near its threshold is released only if its noise is high: such counts are "+
			"too high on average, and their intervals miss the real value more often")
	}
	if periods := deployment.PeriodsInAWindow(d); periods > 1 {
		out = append(out, fmt.Sprintf("a window reaches into up to %d periods and depends on what a user did in all "+
			"of them: over several periods the privacy loss is then more than the sum of their budgets, as stated "+
			"above. To avoid that, use a period that is a multiple of every window size, and no sliding windows",
			periods))
	}
	if b := d.Budget; b.Keys.IsZero() {
		out = append(out, noReserve(b))
	}
	if format := d.Config.Events.Format; format.Decimals > 0 {
		out = append(out, "values are in units of "+format.ValueUnit()+": their bounds, edges and absolute targets, "+
			"and released sums, means, standard deviations and quantiles")
	}
	if c := &d.Config; c.Events.Format.NoUser == event.NoUserEach {
		text := "each event without a user has an account of its own, in memory and on the ledger"
		if c.Privacy.Period == 0 {
			text += ", for ever; with privacy.period, the accounts of past periods are dropped"
		}
		out = append(out, text)
	}
	return out
}

// noReserve returns the sentence for a deployment that reserves no part of δ for private keys. The
// sentence states what can then never change, and the cost of reserving a part.
func noReserve(b budgets.Budget) string {
	text := strconv.FormatFloat(b.Delta/10, 'g', 2, 64)
	out := "a deployment that begins with this configuration can never add a metric with private keys: no part of δ " +
		"is reserved for private keys. To keep that possible, begin with privacy.delta_keys: " + text
	tenth, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return out
	}
	if reserved, err := budgets.NewBudget(b.Epsilon, b.Delta, b.Accountant, tenth); err == nil {
		out += fmt.Sprintf(", which takes %s of what users may spend",
			words.Percent(1-reserved.Mu2.Float()/b.Whole().Mu2.Float()))
	}
	return out
}

// limits returns sentences on what a configuration does not protect.
func limits(cfg *deployment.Config) []string {
	out := []string{
		"a person with several ids counts as several users",
		"targets, bounds and filters that were chosen by looking at the data can reveal some of it",
		"the promise does not hold against anyone who has the noise key, or can write to the deployment's own topics",
		"events beyond a user's allowance are missing from the counts",
	}
	if cfg.Events.Format.NoUser == event.NoUserEach {
		out = append(out, deployment.UnnamedUnit)
	}
	for i := range cfg.Metrics {
		if cfg.Metrics[i].Keys.Mode == deployment.KeysPublic {
			out = append(out, "a list of public keys that was made by looking at the data can reveal some of it")
			break
		}
	}
	if cfg.Time.Trust == deployment.TrustProducer {
		out = append(out, "the times in the records are trusted: a producer that writes wrong times can move events "+
			"into other windows, and make other events late")
	}
	out = append(out, influence(&cfg.Time))
	if cfg.Privacy.Period > 0 {
		out = append(out, "the promise is to a user in one period: someone who looks at several periods learns more, "+
			"as stated above")
	}
	return out
}

// influence returns a sentence that states when one user can decide whether another user's record
// counts (docs/guarantee.md, "What one user can do to others' records").
func influence(t *deployment.Time) string {
	within := timespan.Text(t.Skew + t.IdleGrace)
	if t.Trust == deployment.TrustProducer {
		return fmt.Sprintf("one user can decide whether another's record counts, if that record reaches Kafka more "+
			"than %s after its own time (time.skew + time.idle_grace), or follows a record of its partition that is "+
			"newer by more than %s (time.lateness)", within, timespan.Text(t.Lateness))
	}
	return fmt.Sprintf("one user can decide whether another's record counts, if Kafka shows that record more than %s "+
		"after storing it (time.skew + time.idle_grace), or if append times go back by more than %s (time.slack)",
		within, timespan.Text(t.Slack))
}
