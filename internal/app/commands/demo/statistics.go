package demo

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
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

// compareStatistics reads the source once more and tells the holder of the file how far released
// statistics are from the real ones, and the real ranks of quantiles from the ranks of the metric.
func (j *job) compareStatistics(result demo.Result) error {
	from, to := j.source.Range()
	if result.Drained || from.IsZero() || len(j.statistics) == 0 {
		return nil
	}
	values, size := map[cell][]int64{}, j.flags.window.Milliseconds()
	if err := j.events(func(e *event.Event) error {
		if keys := j.settings.PublicKeys; e.Millis >= from.UnixMilli() && e.Millis < to.UnixMilli() && (keys == nil ||
			slices.Contains(keys, string(e.Key))) {
			at := cell{e.Millis - e.Millis%size, string(e.Key)}
			values[at] = append(values[at], e.Value)
		}
		return nil
	}); err != nil {
		return err
	}
	var sizes []float64
	for _, of := range values {
		slices.Sort(of)
		sizes = append(sizes, float64(len(of)))
	}
	least := choice.LeastOfHalf(sizes)
	var order []string
	errors := map[string][]float64{} // by what is compared
	texts, ones := map[string]func(float64) string{}, map[string]string{}
	for i := range j.deployment.Metrics {
		spec := &j.deployment.Metrics[i].Spec
		if metrickind.Of(spec.Kind).Statistic == nil {
			continue
		}
		for _, c := range comparisonsOf(spec, j.flags) {
			if errors[c.what] == nil {
				order, texts[c.what], ones[c.what] = append(order, c.what), c.text, "value"
				if of := metrickind.Of(metrickind.Of(spec.Kind).ValueOf()); of.Values() {
					ones[c.what] = of.One()
				}
			}
			for at, of := range values {
				if float64(len(of)) < least {
					continue
				}
				by := 1.0 // if the value is missing
				if v, ok := j.statistics[spec.Name][at]; ok {
					by = c.off(of, v, j.flags, spec)
				}
				errors[c.what] = append(errors[c.what], by)
			}
		}
	}
	for _, what := range order {
		j.progress.Note("compared with the file: %s is typically off by %s (%s)",
			what, texts[what](choice.Median(errors[what])), medianOf(len(errors[what]), ones[what]))
	}
	return nil
}

// medianOf names the n values whose errors have the typical error as their median.
func medianOf(n int, one string) string {
	if n == 1 {
		return "one " + one + " with at least half of the events"
	}
	return "the median of " + terminal.Count(n, one) + " that hold half of the events"
}

// errorOf returns how far v is from what ascending values really have.
type errorOf func(values []int64, v float64, f *demoFlags, spec *schemas.MetricSpec) float64

// statisticError is an error of a statistic: what it is of, how large it is, and how it is written.
type statisticError struct {
	what string
	off  errorOf
	text func(float64) string
}

// comparisonsOf says what is compared for a statistic. For a quantile these are its value, whose
// error says how useful it is, and its rank, which has a target.
func comparisonsOf(spec *schemas.MetricSpec, f *demoFlags) []statisticError {
	kind, name := metrickind.Of(spec.Kind), strings.TrimPrefix(spec.Name, demo.MetricName+".")
	switch {
	case kind.ValueOf() != "":
		what := "the " + kind.Texts.Label
		if metrickind.Of(kind.ValueOf()).Values() {
			what += " of " + f.ValueField
		}
		return []statisticError{{what, alsoErrorOf, percentage}}
	case kind.Statistic.Ranked:
		return []statisticError{{"the value of " + name, quantileErrorOf, percentage}, {"the rank of " + name,
			rankErrorOf, points}}
	case spec.Min == f.min && spec.Name == deployment.BelowName(demo.MetricName, spec.Max):
		return []statisticError{{"the share below an edge", shareErrorOf, points}}
	}
	return []statisticError{{"the share of a bucket", shareErrorOf, points}}
}

// percentage writes a part of a real value.
func percentage(v float64) string { return words.Digits(math.Round(v*1e4)/100) + " %" }

// alsoErrorOf returns the difference between v and the real mean, variance, … or number of values,
// as a part of the latter, or of a hundredth of the range if that is more.
func alsoErrorOf(values []int64, v float64, f *demoFlags, spec *schemas.MetricSpec) float64 {
	truth, least := float64(len(values)), 1.0
	if of := metrickind.Of(metrickind.Of(spec.Kind).ValueOf()); of.Vector != nil {
		var powers [metrickind.MaxComponents]float64
		for _, value := range values {
			power := 1.0
			for i := range powers {
				powers[i] += power
				power *= float64(value)
			}
		}
		from, to := of.Vector.Span(float64(f.min), float64(f.max))
		truth, least = of.Vector.Truth(powers), (to-from)/100
	}
	return math.Abs(v-truth) / max(math.Abs(truth), least)
}

// points writes a difference between two ranks or shares, each from 0 to 1, in percentage points.
func points(v float64) string { return words.Digits(math.Round(v*1e4)/100) + " percentage points" }

// shareErrorOf returns the difference, from 0 to 1, between the share v, in percent, and the real
// share of ascending values. It clamps values as Tollgate does.
func shareErrorOf(values []int64, v float64, f *demoFlags, spec *schemas.MetricSpec) float64 {
	below := func(edge int64) int { return sort.Search(len(values), func(i int) bool { return values[i] >= edge }) }
	from, to := 0, len(values)
	if spec.Min > f.min {
		from = below(spec.Min)
	}
	if spec.Max < f.max {
		to = below(spec.Max)
	}
	return math.Abs(v/100 - float64(to-from)/float64(len(values)))
}

// quantileErrorOf returns the difference between v and the real quantile of ascending values: the
// least of them that its rank reaches. It is a part of that quantile, or of a hundredth of the
// range if that is more.
func quantileErrorOf(values []int64, v float64, f *demoFlags, spec *schemas.MetricSpec) float64 {
	place := int(math.Ceil(float64(spec.Max) * float64(len(values)) / metrickind.RankUnit))
	truth := float64(values[max(place, 1)-1])
	return math.Abs(v-truth) / max(math.Abs(truth), float64(f.max-f.min)/100)
}

// rankErrorOf returns the difference, from 0 to 1, between the rank of a quantile and the nearest
// rank that v has among ascending values.
func rankErrorOf(values []int64, v float64, _ *demoFlags, spec *schemas.MetricSpec) float64 {
	rank, n := float64(spec.Max)/metrickind.RankUnit, float64(len(values))
	below := float64(sort.Search(len(values), func(i int) bool { return float64(values[i]) >= v }))
	upTo := float64(sort.Search(len(values), func(i int) bool { return float64(values[i]) > v }))
	return max(0, below/n-rank, rank-upTo/n)
}
