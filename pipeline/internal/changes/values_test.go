package changes

import (
	"reflect"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
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
