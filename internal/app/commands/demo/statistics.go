package demo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// statisticOf returns the name of a statistic of a demo, by the name of its metric; "" for the
// demo's own values.
func statisticOf(metric string) string {
	statistic, some := strings.CutPrefix(metric, demo.MetricName+".")
	if !some {
		return ""
	}
	return statistic
}

// inOrder puts the releases of a turn in order: windows, then keys, each with its own value and
// then its statistics as they are defined.
func (j *job) inOrder(releases []schemas.Release) {
	place := command.PlacesOf(j.deployment)
	slices.SortStableFunc(releases, func(a, b schemas.Release) int {
		return cmp.Or(cmp.Compare(a.WindowStart, b.WindowStart), cmp.Compare(a.Key, b.Key), cmp.Compare(place[a.Metric],
			place[b.Metric]))
	})
}

// statisticNames returns the names of the statistics beside each key's own value, each with a short
// form or "".
func (j *job) statisticNames() map[string]string {
	names := map[string]string{}
	for _, m := range j.deployment.Metrics[1:] {
		names[statisticOf(m.Spec.Name)] = metrickind.Of(m.Spec.Kind).Texts.Short
	}
	return names
}
