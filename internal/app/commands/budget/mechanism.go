package budget

import (
	"cmp"
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

// parameters are the numbers of a value of --mechanism, by their names.
type parameters map[string]float64

// kind is a kind of mechanism: the parameters that it needs and those that it may have.
type kind struct {
	name       string
	needs, may []string
	make       func(v parameters) (compose.Mechanism, error)
}

func kinds() []kind {
	return []kind{
		{"gaussian", []string{"sigma"}, []string{"sensitivity", "sampling"}, gaussian},
		{"gaussian-without-replacement", []string{"sigma", "sampling"}, []string{"sensitivity"},
			gaussianWithoutReplacement},
		{"discrete-gaussian", []string{"sigma"}, []string{"sensitivity", "sampling"}, discreteGaussian},
		{"laplace", []string{"scale"}, []string{"sensitivity", "sampling"}, laplace},
		{"randomized-response", []string{"epsilon"}, []string{"values"}, randomizedResponse},
		{"exponential", []string{"scale"}, []string{"swing"}, exponential},
		{"sparse-vector", []string{"threshold", "value"}, []string{"positives", "sensitivity", "monotone"},
			sparseVector},
		{"eps-delta", []string{"epsilon", "delta"}, nil, epsDelta},
		{"zcdp", []string{"rho"}, nil, func(v parameters) (compose.Mechanism, error) {
			return compose.ZCDP(loss.ZCDP{Rho: v["rho"]})
		}},
	}
}

// parseMechanism reads "gaussian:sigma=100:count=500". Its errors do not repeat
// the text.
func parseMechanism(text string) (compose.Mechanism, error) {
	parts := strings.Split(text, ":")
	all := kinds()
	at := slices.IndexFunc(all, func(k kind) bool { return k.name == parts[0] })
	if at < 0 {
		var names []string
		for _, k := range all {
			names = append(names, k.name)
		}
		return compose.Mechanism{}, fmt.Errorf("unknown mechanism %q: it must be %s", parts[0], spelling.List(names,
			" or "))
	}
	k := all[at]
	values, err := parseParameters(parts, append(append([]string{"count"}, k.needs...), k.may...))
	if err != nil {
		return compose.Mechanism{}, err
	}
	for _, key := range k.needs {
		if _, ok := values[key]; !ok {
			return compose.Mechanism{}, fmt.Errorf("%s is missing: %s:%s=…", key, parts[0], strings.Join(k.needs,
				"=…:"))
		}
	}
	count, err := values.whole("count", 1, compose.MaxCount)
	if err != nil {
		return compose.Mechanism{}, err
	}
	m, err := k.make(values)
	if err != nil {
		return compose.Mechanism{}, err
	}
	return m.Times(count)
}

// parseParameters reads the key=number parts after the name.
func parseParameters(parts, keys []string) (parameters, error) {
	values := parameters{}
	for _, part := range parts[1:] {
		key, number, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form key=number", part)
		}
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("%s has no %q: it takes %s", parts[0], key, strings.Join(keys, ", "))
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
	return values, nil
}

// whole returns an integer parameter, or its least value where it was not given.
func (v parameters) whole(key string, least, most int) (int, error) {
	value, ok := v[key]
	if !ok {
		return least, nil
	}
	if value != math.Trunc(value) || value < float64(least) || value > float64(most) {
		return 0, &units.RangeError{Parameter: key, Value: value, Range: fmt.Sprintf("an integer from %d to %d", least,
			most)}
	}
	return int(value), nil
}

// orOne returns a parameter, 1 where it was not given.
func (v parameters) orOne(key string) float64 {
	if value, ok := v[key]; ok {
		return value
	}
	return 1
}

func gaussian(v parameters) (compose.Mechanism, error) {
	return compose.SampledGaussian(v["sigma"], v.orOne("sensitivity"), v.orOne("sampling"))
}

func gaussianWithoutReplacement(v parameters) (compose.Mechanism, error) {
	return compose.GaussianWithoutReplacement(v["sigma"], v.orOne("sensitivity"), v["sampling"])
}

func discreteGaussian(v parameters) (compose.Mechanism, error) {
	sensitivity, err := v.whole("sensitivity", 1, compose.MaxSensitivity)
	if err != nil {
		return compose.Mechanism{}, err
	}
	return compose.SampledDiscreteGaussian(v["sigma"], sensitivity, v.orOne("sampling"))
}

func laplace(v parameters) (compose.Mechanism, error) {
	return compose.SampledLaplace(v["scale"], v.orOne("sensitivity"), v.orOne("sampling"))
}

func randomizedResponse(v parameters) (compose.Mechanism, error) {
	values, err := v.whole("values", 2, compose.MaxValues)
	if err != nil {
		return compose.Mechanism{}, err
	}
	return compose.RandomizedResponse(v["epsilon"], values)
}

func exponential(v parameters) (compose.Mechanism, error) {
	return compose.Exponential(v["scale"], v.orOne("swing"))
}

func sparseVector(v parameters) (compose.Mechanism, error) {
	positives, err1 := v.whole("positives", 1, 1<<30)
	monotone, err2 := v.whole("monotone", 0, 1)
	if err := cmp.Or(err1, err2); err != nil {
		return compose.Mechanism{}, err
	}
	return compose.SparseVector(v["threshold"], v["value"], v.orOne("sensitivity"), positives, monotone == 1)
}

func epsDelta(v parameters) (compose.Mechanism, error) {
	return compose.Approx(loss.Approx{Epsilon: v["epsilon"], Delta: v["delta"]})
}
