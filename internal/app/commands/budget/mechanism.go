package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/state/compose"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// parameters are the numbers in a value of --mechanism, by name.
type parameters map[string]float64

// option is a parameter that may be left out.
type option struct {
	name     string
	fallback float64
	most     int // for an integer: from fallback to most; 0: any number above 0
}

var (
	count       = option{"count", 1, compose.MaxCount}
	sensitivity = option{name: "sensitivity", fallback: 1}
	sampling    = option{name: "sampling", fallback: 1}
)

// kind is a kind of mechanism, with its required and its optional parameters.
type kind struct {
	name  string
	needs []string
	may   []option
	make  func(v parameters) (compose.Mechanism, error)
}

var kinds = []kind{
	{"gaussian", []string{"sigma"}, []option{sensitivity, sampling, count},
		func(v parameters) (compose.Mechanism, error) {
			return compose.SampledGaussian(v["sigma"], v["sensitivity"], v["sampling"])
		}},
	{"gaussian-without-replacement", []string{"sigma", "sampling"}, []option{sensitivity, count},
		func(v parameters) (compose.Mechanism, error) {
			return compose.GaussianWithoutReplacement(v["sigma"], v["sensitivity"], v["sampling"])
		}},
	{"discrete-gaussian", []string{"sigma"}, []option{{"sensitivity", 1, compose.MaxSensitivity}, sampling, count},
		func(v parameters) (compose.Mechanism, error) {
			return compose.SampledDiscreteGaussian(v["sigma"], int(v["sensitivity"]), v["sampling"])
		}},
	{"laplace", []string{"scale"}, []option{sensitivity, sampling, count},
		func(v parameters) (compose.Mechanism, error) {
			return compose.SampledLaplace(v["scale"], v["sensitivity"], v["sampling"])
		}},
	{"randomized-response", []string{"epsilon"}, []option{{"values", 2, compose.MaxValues}, count},
		func(v parameters) (compose.Mechanism, error) {
			return compose.RandomizedResponse(v["epsilon"], int(v["values"]))
		}},
	{"exponential", []string{"scale"}, []option{{name: "swing", fallback: 1}, count},
		func(v parameters) (compose.Mechanism, error) { return compose.Exponential(v["scale"], v["swing"]) }},
	{"sparse-vector", []string{"threshold", "value"},
		[]option{{"positives", 1, 1 << 30}, sensitivity, {"monotone", 0, 1}, count},
		func(v parameters) (compose.Mechanism, error) {
			return compose.SparseVector(v["threshold"], v["value"], v["sensitivity"], int(v["positives"]),
				v["monotone"] == 1)
		}},
	{"eps-delta", []string{"epsilon", "delta"}, []option{count}, func(v parameters) (compose.Mechanism, error) {
		return compose.Approx(loss.Approx{Epsilon: v["epsilon"], Delta: v["delta"]})
	}},
	{"zcdp", []string{"rho"}, []option{count}, func(v parameters) (compose.Mechanism, error) {
		return compose.ZCDP(loss.ZCDP{Rho: v["rho"]})
	}},
}

// parseMechanism parses a text like "gaussian:sigma=100:count=500". Its errors do not repeat the
// whole text.
func parseMechanism(text string) (compose.Mechanism, error) {
	parts := strings.Split(text, ":")
	var names []string
	for _, k := range kinds {
		if names = append(names, k.name); k.name != parts[0] {
			continue
		}
		values, err := k.parse(parts[1:])
		if err != nil {
			return compose.Mechanism{}, err
		}
		m, err := k.make(values)
		if err != nil {
			return compose.Mechanism{}, err
		}
		return m.Times(int(values["count"]))
	}
	return compose.Mechanism{}, fmt.Errorf("unknown mechanism %q: it must be %s", parts[0],
		spelling.List(names, " or "))
}

// parse reads the key=number parts after the name.
func (k kind) parse(parts []string) (parameters, error) {
	values, keys := parameters{}, slices.Clone(k.needs)
	for _, o := range k.may {
		keys = append(keys, o.name)
	}
	for _, part := range parts {
		key, number, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form key=number", part)
		}
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("%s has no %q: it takes %s", k.name, key, strings.Join(keys, ", "))
		}
		if _, twice := values[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is %q: it must be a number", key, number)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || v == 0 && key != "epsilon" && key != "delta" {
			return nil, &units.RangeError{Parameter: key, Value: v, Range: "finite and above 0"}
		}
		values[key] = v
	}
	for _, key := range k.needs {
		if _, ok := values[key]; !ok {
			return nil, fmt.Errorf("%s is missing: %s:%s=…", key, k.name, strings.Join(k.needs, "=…:"))
		}
	}
	for _, o := range k.may {
		v, ok := values[o.name]
		if !ok {
			values[o.name] = o.fallback
		} else if o.most > 0 && (v != math.Trunc(v) || v < o.fallback || v > float64(o.most)) {
			return nil, &units.RangeError{Parameter: o.name, Value: v,
				Range: fmt.Sprintf("an integer from %v to %d", o.fallback, o.most)}
		}
	}
	return values, nil
}
