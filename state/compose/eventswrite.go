package compose

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

// EncodeEvents writes the mechanisms of a list as one event, in the form that DecodeEvents
// reads and python turns into dp_accounting's classes (docs/accounting.md has the script).
// DiscreteGaussian and Approx have no class there. The p of randomized response is rounded
// down, so that no price falls. The error is a *units.RangeError as of Accountant.Compose, or
// that of w.
func EncodeEvents(w io.Writer, list []Mechanism) error {
	if err := check(list, Question{forDelta: true}); err != nil {
		return fmt.Errorf("writing events: %w", err)
	}
	var events []string
	for _, m := range list {
		text, err := m.event()
		if err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		if m.count > 1 {
			text = object(theirModule, "SelfComposedDpEvent", `"event": `+text, fmt.Sprintf(`"count": %d`, m.count))
		}
		events = append(events, text)
	}
	text := events[0]
	if len(events) > 1 {
		text = object(theirModule, "ComposedDpEvent", "\"events\": [\n  "+strings.Join(events, ",\n  ")+"\n]")
	}
	if _, err := io.WriteString(w, text+"\n"); err != nil {
		return fmt.Errorf("writing events: %w", err)
	}
	return nil
}

func object(module, class string, fields ...string) string {
	head := []string{fmt.Sprintf(`"module_name": %q`, module), fmt.Sprintf(`"class_name": %q`, class)}
	return "{" + strings.Join(append(head, fields...), ", ") + "}"
}

// event returns the mechanism run once.
func (m Mechanism) event() (string, error) {
	number := func(name string, v float64) string { return fmt.Sprintf(`"%s": %v`, name, v) }
	sampled := func(sampling float64, of string) string {
		return object(theirModule, "PoissonSampledDpEvent", number("sampling_probability", sampling), `"event": `+of)
	}
	gaussian := func(sigma float64) string {
		return object(theirModule, "GaussianDpEvent", number("noise_multiplier", sigma))
	}
	switch p := m.pair.(type) {
	case nil:
		return object(theirModule, "ZCDpEvent", number("rho", m.concentrated), `"xi": 0`), nil
	case pld.Gaussian:
		return gaussian(p.Sigma), nil
	case pld.SubsampledGaussian:
		return sampled(p.Sampling, gaussian(p.Sigma)), nil
	case pld.Sampled:
		of, err := Mechanism{name: m.name, pair: p.Pair}.event()
		return sampled(p.Sampling, of), err
	case pld.Laplace:
		return object(theirModule, "LaplaceDpEvent", number("noise_multiplier", p.Scale)), nil
	case pld.DiscreteGaussian:
		return object(ourModule, "DiscreteGaussianDpEvent", number("sigma", p.Sigma), fmt.Sprintf(`"sensitivity": %d`, p.Sensitivity)), nil
	case pld.RandomizedResponse:
		// p = k/(e^ε − 1 + k), exactly 1 at ε = 0.
		k, margin := float64(p.Values), 1-0x1p-50
		if p.Epsilon == 0 {
			margin = 1
		}
		kept := k / (math.Expm1(p.Epsilon) + k) * margin
		if kept == 0 {
			return "", &units.RangeError{Parameter: "epsilon", Value: p.Epsilon, Range: "below 700, where a probability is above 0"}
		}
		return object(theirModule, "RandomizedResponseDpEvent", number("noise_parameter", kept), fmt.Sprintf(`"num_buckets": %d`, p.Values)), nil
	case pld.Approx:
		return object(ourModule, "EpsilonDeltaDpEvent", number("epsilon", p.Epsilon), number("delta", p.Delta)), nil
	}
	return "", fmt.Errorf("%s: %w", m.name, ErrUnsupported)
}
