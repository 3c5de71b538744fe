package deployment

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// manyUsers is more users than one key has in one window of any stream that a single deployment can
// handle: a target that only such a count meets is never met.
const manyUsers = 1_000_000

// Warnings warns about valid settings that hardly protect anyone, make counts useless, or compare
// values that are never equal. It reads no data, and returns none for nearly every deployment.
func Warnings(d *Deployment) []*ConfigError {
	all := append(weakPromise(&d.Config.Privacy), unreliableUser(&d.Config.Events.Format)...)
	for i := range d.Config.Metrics {
		m := &d.Config.Metrics[i]
		metric := fmt.Sprintf("Metrics[%d].", i)
		if reason := d.Config.Events.Format.NeverEqual(m.Filter); reason != "" {
			all = append(all, Invalid(metric+"Filter", "%s", reason))
		}
		if reason := coarse(m, d.Metric(m.Name)); reason != "" {
			all = append(all, Invalid(metric+m.leastNoise(), "%s: lower it", reason))
		}
	}
	return all
}

// coarse returns the reason why a metric's counts are useless, or "".
func coarse(m *Metric, c *CompiledMetric) string {
	most := manyUsers * float64(c.Spec.Most())
	switch {
	case m.Keys.Mode == KeysPrivate && c.Plan.Threshold() > most:
		return fmt.Sprintf("a key is only released with a count above %.0f, more than a million users add to it",
			c.Plan.Threshold())
	case c.Plan.Within() > most:
		return fmt.Sprintf("the most exact count has an error of ± %.0f, more than a million users add to it",
			c.Plan.Within())
	}
	return ""
}

// unreliableUser warns about a user field that is also the time or the value. Such a field changes
// from event to event, so each event would have its own user, and nobody would be protected.
func unreliableUser(f *event.Format) []*ConfigError {
	for _, other := range []string{"time", "value"} {
		if slices.Contains(f.FieldsOf(other), f.User) {
			return []*ConfigError{Invalid("Events.Format.User",
				"%q is also the %s, so that the events of one person look like those of many users and nothing "+
					"protects the person: name the field with the person's id", f.User, other)}
		}
	}
	return nil
}
