package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/directed"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// maxCount bounds the mechanisms of a composition.
const maxCount = 1_000_000_000

// mechanism is one value of --mechanism: a dominating pair, and the simpler
// guarantees that imply something to the other accountants.
type mechanism struct {
	name  string // gaussian, laplace, …
	count int
	pair  pld.Pair
	mu    float64      // of Gaussian noise without sampling: sensitivity/σ, rounded up
	fixed *loss.Approx // of a mechanism that is (ε, δ)-DP for this one ε and δ
}

// kind is a kind of mechanism: the keys it needs and those it may have.
type kind struct {
	needs, may []string
	make       func(v map[string]float64) (mechanism, error)
}

func kinds() map[string]kind {
	return map[string]kind{
		"gaussian":            {[]string{"sigma"}, []string{"sensitivity", "sampling"}, gaussian},
		"discrete-gaussian":   {[]string{"sigma"}, []string{"sensitivity"}, discreteGaussian},
		"laplace":             {[]string{"scale"}, []string{"sensitivity"}, laplace},
		"randomized-response": {[]string{"epsilon"}, []string{"values"}, randomizedResponse},
		"eps-delta":           {[]string{"epsilon", "delta"}, nil, epsDelta},
	}
}

// kindNames are the names of kinds, as they are printed.
const kindNames = "gaussian, discrete-gaussian, laplace, randomized-response or eps-delta"

// parseMechanism reads "gaussian:sigma=100:count=500". Its errors do not repeat
// the text.
func parseMechanism(text string) (mechanism, error) {
	parts := strings.Split(text, ":")
	k, ok := kinds()[parts[0]]
	if !ok {
		return mechanism{}, fmt.Errorf("unknown mechanism %q: it must be %s", parts[0], kindNames)
	}
	values, err := parseParameters(parts, append(append([]string{"count"}, k.needs...), k.may...))
	if err != nil {
		return mechanism{}, err
	}
	for _, key := range k.needs {
		if _, ok := values[key]; !ok {
			return mechanism{}, fmt.Errorf("%s is missing: %s:%s=…", key, parts[0], strings.Join(k.needs, "=…:"))
		}
	}
	count, err := whole(values, "count", 1, maxCount)
	if err != nil {
		return mechanism{}, err
	}
	m, err := k.make(values)
	if err != nil {
		return mechanism{}, err
	}
	if err := m.pair.Validate(); err != nil {
		return mechanism{}, parameterError(err, values)
	}
	m.name, m.count = parts[0], count
	return m, nil
}

// parseParameters reads the key=number parts behind the name.
func parseParameters(parts, keys []string) (map[string]float64, error) {
	values := map[string]float64{}
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
			return nil, &state.RangeError{Parameter: key, Value: v, Range: "finite and above 0"}
		}
		values[key] = v
	}
	return values, nil
}

// parameterError says that it was the ratio of two parameters which is out of
// range, where it was.
func parameterError(err error, values map[string]float64) error {
	var out *state.RangeError
	if _, scaled := values["sensitivity"]; scaled && errors.As(err, &out) && (out.Parameter == "sigma" || out.Parameter == "scale") && values[out.Parameter] != out.Value {
		return &state.RangeError{Parameter: out.Parameter + "/sensitivity", Value: out.Value, Range: out.Range}
	}
	return err
}

// whole is an integer parameter, or its least value where it was not given.
func whole(values map[string]float64, key string, least, most int) (int, error) {
	v, ok := values[key]
	if !ok {
		return least, nil
	}
	if v != math.Trunc(v) || v < float64(least) || v > float64(most) {
		return 0, &state.RangeError{Parameter: key, Value: v, Range: fmt.Sprintf("an integer from %d to %d", least, most)}
	}
	return int(v), nil
}

// sensitivity is 1 where it was not given.
func sensitivity(values map[string]float64) float64 {
	if v, ok := values["sensitivity"]; ok {
		return v
	}
	return 1
}

func gaussian(v map[string]float64) (mechanism, error) {
	noise := directed.QuotientDown(v["sigma"], sensitivity(v))
	if q, ok := v["sampling"]; ok && q != 1 {
		return mechanism{pair: pld.SubsampledGaussian{Sigma: noise, Sampling: q}}, nil
	}
	return mechanism{pair: pld.Gaussian{Sigma: noise}, mu: directed.QuotientUp(sensitivity(v), v["sigma"])}, nil
}

func discreteGaussian(v map[string]float64) (mechanism, error) {
	by, err := whole(v, "sensitivity", 1, 1<<20)
	return mechanism{pair: pld.DiscreteGaussian{Sigma: v["sigma"], Sensitivity: by}}, err
}

func laplace(v map[string]float64) (mechanism, error) {
	pure := loss.Approx{Epsilon: directed.QuotientUp(sensitivity(v), v["scale"])}
	return mechanism{pair: pld.Laplace{Scale: directed.QuotientDown(v["scale"], sensitivity(v))}, fixed: &pure}, nil
}

func randomizedResponse(v map[string]float64) (mechanism, error) {
	values, err := whole(v, "values", 2, 1<<30)
	pure := loss.Approx{Epsilon: v["epsilon"]}
	return mechanism{pair: pld.RandomizedResponse{Epsilon: v["epsilon"], Values: values}, fixed: &pure}, err
}

func epsDelta(v map[string]float64) (mechanism, error) {
	is := loss.Approx{Epsilon: v["epsilon"], Delta: v["delta"]}
	return mechanism{pair: pld.Approx(is), fixed: &is}, nil
}

// approximate reports whether the mechanism may fail with some probability: then
// it has no Rényi divergence.
func (m mechanism) approximate() bool { return m.fixed != nil && m.fixed.Delta > 0 }

// sampled reports whether the mechanism works on a Poisson sample.
func (m mechanism) sampled() bool {
	_, ok := m.pair.(pld.SubsampledGaussian)
	return ok
}
