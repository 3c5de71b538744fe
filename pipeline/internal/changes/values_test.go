package changes

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// No field of a metric can change without being listed, with its old and its new value.
func TestEveryFieldOfAMetricIsComparedByValue(t *testing.T) {
	precision := must.Have(units.PrecisionFromSigma(3))
	delta := must.Have(units.DeltaFromFloat(1e-9))
	coarse := must.Have(units.PrecisionFromSigma(50))
	was := schemas.MetricSpec{Name: "views", First: coarse, Top: coarse}
	for i := range reflect.TypeFor[schemas.MetricSpec]().NumField() {
		name := reflect.TypeFor[schemas.MetricSpec]().Field(i).Name
		if name == "Name" {
			continue // another name is another metric
		}
		is := was
		switch f := reflect.ValueOf(&is).Elem().Field(i); f.Interface().(type) {
		case string:
			f.SetString("other")
		case int64:
			f.SetInt(5)
		case uint32:
			f.SetUint(5)
		case float64:
			f.SetFloat(0.5)
		case [][]byte:
			f.Set(reflect.ValueOf([][]byte{[]byte("a")}))
		case units.Precision:
			f.Set(reflect.ValueOf(precision))
		case units.Mu2:
			f.SetUint(5)
		case units.Delta:
			f.Set(reflect.ValueOf(delta))
		default:
			t.Fatalf("%s has a type that this test does not know", name)
		}
		if all := metricValues(&was, &is); len(all) != 1 || all[0].Was == all[0].Is || all[0].Field == "" {
			t.Errorf("%s differs, and is told as %v", name, all)
		}
	}
	if all := metricValues(&was, &was); len(all) != 0 {
		t.Errorf("nothing differs, and is told as %v", all)
	}
}

// A list that changes but keeps its length differs, too; keys are never listed, for a run logs the
// difference.
func TestListsOfKeysAreComparedWithoutKeys(t *testing.T) {
	keys := func(texts ...string) (list [][]byte) {
		for _, text := range texts {
			list = append(list, []byte(text))
		}
		return list
	}
	got := fmt.Sprint(keyLists("keys.list", keys("a", "b", "c"), keys("a", "b", "f")))
	if want := `{keys.list 3 keys 3 keys (1 added, 1 removed)}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The two components of a mean differ together, and are listed as the one metric that they are; a
// difference of the second one alone is listed as well.
func TestAMeanDiffersOnce(t *testing.T) {
	mean := func(events int) *schemas.Header {
		cfg := deploytest.Config("localhost:1")
		cfg.Events.Format.Value = "value"
		m := &cfg.Metrics[0]
		m.Name, m.Kind, m.Min, m.Max, m.MaxEventsPerKey, m.Noise = "score", metrickind.Mean, 0, 10, events, 80
		m.Target = noisereduction.Target{Absolute: 1, Confidence: 0.95}
		d := must.Have(deployment.Compile(cfg))
		h := Header(d)
		return &h
	}
	was, is := mean(2), mean(3)
	if all := metricDifferences(was, is); len(is.Metrics) < 2 || len(all) != 1 || all[0].What != "the metric score" ||
		len(all[0].Values) == 0 {
		t.Errorf("%d metrics, told as %+v", len(is.Metrics), all)
	}
	is = mean(2)
	is.Metrics[1].Top = was.Metrics[0].Top
	if all := metricDifferences(was, is); len(all) != 1 || all[0].What != "the metric score.mean_offset" {
		t.Errorf("told as %+v", all)
	}
}

// A metric that reads another field, or another unit, is listed with the old and the new place.
func TestPlacesOfFieldsAreComparedByValue(t *testing.T) {
	was := &schemas.Header{Metrics: []schemas.MetricSpec{{Name: "views", Kind: "events"}}}
	was.Events.Key, was.Events.Time = "column 1", "column 2, ms"
	is := &schemas.Header{Metrics: was.Metrics, Events: was.Events}
	is.Events.Time = "column 2, s"
	all := metricDifferences(was, is)
	if len(all) != 1 || len(all[0].Values) != 1 || all[0].Values[0].Was != "column 2, ms" ||
		all[0].Values[0].Is != "column 2, s" {
		t.Errorf("told as %+v", all)
	}
}

// The relative error that quantiles and histograms need of their number of events is not listed as
// a target of the configuration.
func TestARelativeErrorThatFollowsIsNotToldAsATarget(t *testing.T) {
	for kind, want := range map[string]string{
		metrickind.Quantiles: "relative error of the number of events, from target.absolute",
		metrickind.Histogram: "relative error of the number of events, from target.absolute",
		metrickind.Events:    "target.relative",
	} {
		was := schemas.MetricSpec{Kind: kind, Relative: 0.1}
		is := was
		is.Relative = 0.2
		all := metricValues(&was, &is)
		if len(all) != 1 || all[0] != (Value{Field: want, Was: "0.1", Is: "0.2"}) {
			t.Errorf("%s: %v", kind, all)
		}
	}
}

// Another scale of quantiles changes nothing but the definition of their nodes, if both scales have
// as many levels; other edges change the definition of the buckets. Each is listed by its name in
// the configuration.
func TestScalesAndEdgesAreTold(t *testing.T) {
	header := func(edit func(*deployment.Metric)) *schemas.Header {
		cfg := deploytest.Config("localhost:1")
		cfg.Events.Format.Value = "value"
		m := &cfg.Metrics[0]
		m.Name, m.MaxEventsPerKey, m.Noise = "score", 2, 80
		m.Target = noisereduction.Target{Absolute: 2, Confidence: 0.95}
		edit(m)
		d := must.Have(deployment.Compile(cfg))
		h := Header(d)
		return &h
	}
	quantiles := func(scale string, most int64) *schemas.Header {
		return header(func(m *deployment.Metric) {
			m.Kind, m.Max, m.Scale, m.Target.Absolute = metrickind.Quantiles, most, scale, 0
		})
	}
	for _, most := range []int64{100, 1 << 30} { // with as many levels, or fewer
		all := metricDifferences(quantiles("linear", most), quantiles("logarithmic", most))
		if len(all) != 1 || all[0].What != "the metric score" ||
			!slices.Contains(all[0].Values, Value{Field: "scale", Was: "linear", Is: "logarithmic"}) {
			t.Errorf("to %d: told as %+v", most, all)
		}
	}
	edges := func(edges ...float64) *schemas.Header {
		return header(func(m *deployment.Metric) { m.Kind, m.Edges = metrickind.Histogram, edges })
	}
	all := metricDifferences(edges(0, 5, 10), edges(0, 6, 10))
	if !slices.ContainsFunc(all, func(d Difference) bool {
		return slices.Contains(d.Values, Value{Field: "edges", Was: "3 edges", Is: "3 edges (1 added, 1 removed)"})
	}) {
		t.Errorf("told as %+v", all)
	}
}
