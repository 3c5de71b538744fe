package changes

import (
	"reflect"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// No field of a metric can change without being told, with its old and its new value.
func TestEveryFieldOfAMetricIsComparedByValue(t *testing.T) {
	precision, err := units.PrecisionFromSigma(3)
	if err != nil {
		t.Fatal(err)
	}
	delta, err := units.DeltaFromFloat(1e-9)
	if err != nil {
		t.Fatal(err)
	}
	coarse, err := units.PrecisionFromSigma(50)
	if err != nil {
		t.Fatal(err)
	}
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

// The two components of a mean differ together, and are told as the one metric that they are; a
// difference of the second one alone is told as well.
func TestAMeanDiffersOnce(t *testing.T) {
	mean := func(events int) *schemas.Header {
		cfg := deploytest.Config("localhost:1")
		cfg.Events.Format.Value = "value"
		m := &cfg.Metrics[0]
		m.Name, m.Kind, m.Min, m.Max, m.MaxEventsPerKey, m.Noise = "score", metrickind.Mean, 0, 10, events, 80
		m.Target = noisereduction.Target{Absolute: 1, Confidence: 0.95}
		d, err := deployment.Compile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		h := Header(d)
		return &h
	}
	was, is := mean(2), mean(3)
	if all := metricDifferences(was, is); len(is.Metrics) < 2 || len(all) != 1 || all[0].What != "the metric score" || len(all[0].Values) == 0 {
		t.Errorf("%d metrics, told as %+v", len(is.Metrics), all)
	}
	is = mean(2)
	is.Metrics[1].Top = was.Metrics[0].Top
	if all := metricDifferences(was, is); len(all) != 1 || all[0].What != "the metric score.mean_offset" {
		t.Errorf("told as %+v", all)
	}
}
