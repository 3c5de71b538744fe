package spend

import (
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// part returns a metric that is derived from m.
func part(m schemas.MetricSpec, kind string) schemas.MetricSpec {
	p := m
	p.Name, p.Kind, p.Of = m.Name+"."+kind, kind, m.Name
	p.KeyMode, p.KeysFrom, p.PublicKeys = schemas.KeysFrom, m.Route(), nil
	return p
}

// A value beside another one is computed from components that are drawn and charged: definitions
// without them are refused, and so are components that nothing is computed from.
func TestRuleAStatisticHasTheComponentsThatItNeeds(t *testing.T) {
	quantiles := publicMetric("m", "a")
	quantiles.Kind, quantiles.Max = "quantiles", 100
	mean := quantiles
	mean.Kind = "mean"
	withAlso := func(m schemas.MetricSpec, kinds ...string) (all []schemas.MetricSpec) {
		all = append(all, m)
		for _, kind := range kinds {
			all = append(all, part(m, kind))
		}
		return all
	}
	elsewhere := withAlso(quantiles, "also_mean", "mean_offset", "mean_events", "quantile_nodes")
	elsewhere[1].Max = 50
	wider := slices.Clone(withAlso(quantiles, "also_mean", "mean_offset", "mean_events", "quantile_nodes"))
	wider[2].Max = 200
	statisticOfOthers, componentOfOthers := slices.Clone(elsewhere), slices.Clone(wider)
	statisticOfOthers[1].Max, statisticOfOthers[1].KeysFrom = 100, "n"
	componentOfOthers[2].Max, componentOfOthers[2].KeysFrom = 100, "n"
	changed := func(index int, change func(*schemas.MetricSpec)) []schemas.MetricSpec {
		all := withAlso(quantiles, "also_mean", "mean_offset", "mean_events", "quantile_nodes")
		change(&all[index])
		return all
	}
	public := func(m *schemas.MetricSpec) { m.KeyMode, m.PublicKeys = schemas.KeysPublic, [][]byte{[]byte("a")} }
	private := func(m *schemas.MetricSpec) { m.KeyMode = schemas.KeysPrivate }
	for name, c := range map[string]struct {
		metrics []schemas.MetricSpec
		fits    bool
	}{
		"a component with keys of its own": {changed(3, public), false},
		"nodes with keys of their own":     {changed(4, private), false},
		"a mean with keys of its own":      {changed(1, private), false},
		"a mean at another confidence":     {changed(1, func(m *schemas.MetricSpec) { m.Confidence = 0.5 }), false},
		"a component twice, for a variance that comes later": {
			withAlso(quantiles, "also_mean", "mean_offset", "mean_events", "also_variance", "mean_events",
				"quantile_nodes"),
			false},
		"quantiles": {withAlso(quantiles, "quantile_nodes"), true},
		"with a mean": {withAlso(quantiles, "also_mean", "mean_offset", "mean_events", "quantile_nodes"),
			true},
		"with a deviation": {withAlso(quantiles, "also_standard_deviation", "mean_offset", "mean_square",
			"mean_events", "quantile_nodes"), true},
		"a mean without its component": {withAlso(quantiles, "also_mean", "mean_events", "quantile_nodes"), false},
		"a mean without its number":    {withAlso(quantiles, "also_mean", "mean_offset", "quantile_nodes"), false},
		"two numbers": {withAlso(quantiles, "also_mean", "mean_offset", "mean_events", "mean_events",
			"quantile_nodes"), false},
		"a deviation without the third": {withAlso(quantiles, "also_standard_deviation", "mean_offset", "mean_events",
			"quantile_nodes"), false},
		"components in another order": {withAlso(quantiles, "also_standard_deviation", "mean_square", "mean_offset",
			"mean_events", "quantile_nodes"), false},
		"a component for nothing": {withAlso(quantiles, "mean_offset", "mean_events", "quantile_nodes"),
			false},
		"a number for nothing":             {withAlso(quantiles, "mean_events", "quantile_nodes"), false},
		"a number without a tree":          {withAlso(mean, "mean_offset", "mean_events"), false},
		"no nodes":                         {withAlso(quantiles, "also_mean", "mean_offset", "mean_events"), false},
		"the number of events twice":       {withAlso(quantiles, "also_events", "quantile_nodes"), false},
		"a mean of other values":           {elsewhere, false},
		"a component of other values":      {wider, false},
		"a mean for other keys":            {statisticOfOthers, false},
		"a component for other keys":       {componentOfOthers, false},
		"a mean with its number of events": {withAlso(mean, "also_events", "mean_offset"), true},
		"a mean with a variance":           {withAlso(mean, "also_variance", "mean_offset", "mean_square"), true},
		"a mean beside itself":             {withAlso(mean, "also_mean", "mean_offset"), false},
		"a mean beside a count":            {withAlso(publicMetric("m", "a"), "also_mean", "mean_offset"), false},
	} {
		if _, err := NewRules(budgets.Budget{Mu2: 1}, testHashKey, c.metrics, 1, 1, 4); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
