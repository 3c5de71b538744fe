package deployment

import (
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// manyUsers is more than the number of users that one key has in one window, in any stream that a
// single deployment can handle. A target that only a higher count can meet is never met.
const manyUsers = 1_000_000

// Warnings returns warnings about valid settings that protect hardly anyone, make counts useless,
// or compare values that can never be equal. It reads no data. Most deployments get no warnings.
func Warnings(d *Deployment) []*ConfigError {
	all := append(weakPromise(&d.Config.Privacy), unreliableUser(&d.Config.Events.Format)...)
	for i := range d.Config.Metrics {
		m := &d.Config.Metrics[i]
		metric := fmt.Sprintf("Metrics[%d].", i)
		if reason := d.Config.Events.Format.NeverEqual(m.Filter); reason != "" {
			all = append(all, Invalid(metric+"Filter", "%s", reason))
		}
		if reason := uselessCounts(m, d.Metric(m.Name)); reason != "" {
			all = append(all, Invalid(metric+m.noiseField(), "%s: lower it", reason))
		}
	}
	return all
}

// uselessCounts returns the reason why a metric's counts are useless, or "".
func uselessCounts(m *Metric, c *CompiledMetric) string {
	most := manyUsers * float64(c.Spec.Most())
	switch {
	case m.Keys.Mode == KeysPrivate && c.Plan.Threshold() > most:
		return fmt.Sprintf("a key is only released if its count exceeds %.0f, which is more than a million users add "+
			"to it", c.Plan.Threshold())
	case c.Plan.Within() > most:
		return fmt.Sprintf("the most exact count has an error of ± %.0f, which is more than a million users add to it",
			c.Plan.Within())
	}
	return ""
}

// unreliableUser returns a warning if the user field is also the time or the value field. Its
// content changes from event to event, so every event would have its own user.
func unreliableUser(f *event.Format) []*ConfigError {
	for _, other := range []string{"time", "value"} {
		if slices.Contains(f.FieldsOf(other), f.User) {
			return []*ConfigError{Invalid("Events.Format.User",
				"%q is also the %s, so the events of one person look like those of many users and nothing "+
					"protects the person: give the field with the person's id", f.User, other)}
		}
	}
	return nil
}
