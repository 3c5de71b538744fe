package compose

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// ErrNotPrivate is returned for a tree of events with a mechanism that promises nothing: a
// NonPrivateDpEvent, noise of 0, randomized response without randomness.
var ErrNotPrivate = errors.New("no privacy is promised")

// ErrUnsupported is returned for an event of dp_accounting that is not priced here.
var ErrUnsupported = errors.New("the event is not supported")

const (
	theirModule = "dp_accounting.dp_event" // of dp_accounting's own classes
	ourModule   = "tollgate"               // of those that dp_accounting does not have
)

// DecodeEvents reads a tree of dp_accounting's events (Google's Python library, version 0.6.0) and
// returns its mechanisms, equal ones together, for Best and Compare. The form is that of
// DpEvent.to_named_tuple as JSON objects: module_name, class_name and the fields of the class. The
// classes are Gaussian, Laplace, RandomizedResponse, PoissonSampled, Composed, SelfComposed and
// NoOp…DpEvent and ZCDpEvent with an xi of 0; and of the module "tollgate", which dp_accounting
// does not have, DiscreteGaussianDpEvent(sigma, sensitivity) and EpsilonDeltaDpEvent(epsilon,
// delta). A Poisson sample is of noise, or of a composition of Gaussian noise, which is one of
// Σ1/σ² (Dong, Roth and Su, 2022, Corollary 3.3), rounded up. A tree without loss is a mechanism of
// ε = 0.
//
// Neighbouring inputs are the reader's choice, as for every list of Mechanisms, but a tree that
// has both a Poisson sample (one individual is added or removed) and randomized response (one
// value is changed) is refused. The error is or wraps ErrNotPrivate, ErrUnsupported, a
// *units.RangeError, or one about JSON, and names the event; the input is at most
// 16 MiB, 64 levels and 65,536 values.
func DecodeEvents(r io.Reader) ([]Mechanism, error) {
	tree, err := readTree(r)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	w := eventWalk{at: make(map[eventKey]int)}
	if err := w.walk(tree, "event", 1, 1); err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	if w.sampled && w.responds {
		return nil, fmt.Errorf("reading events: a Poisson sample adds or removes one individual, randomized response changes one, and no neighbouring inputs are both: %w", ErrUnsupported)
	}
	if len(w.list) > 0 {
		return w.list, nil
	}
	nothing, err := Approx(loss.Approx{})
	return []Mechanism{nothing}, err
}

// eventKey is equal for mechanisms that may be counted together.
type eventKey struct {
	pair         pld.Pair
	concentrated float64
}

type eventWalk struct {
	list              []Mechanism
	at                map[eventKey]int
	together          int
	sampled, responds bool
}

// walk adds an event that happens so many times on a sample of that probability, 1 for all data.
func (w *eventWalk) walk(value any, path string, times int, sampling float64) error {
	e, err := newEvent(value, path)
	if err != nil {
		return err
	}
	switch e.class {
	case "NoOpDpEvent":
		return e.only()
	case "ComposedDpEvent", "SelfComposedDpEvent":
		if sampling < 1 {
			return w.sampledTogether(e, times, sampling)
		}
		return e.parts(func(part any, path string, count int) error {
			if count > 0 && times > MaxCount/count {
				return fmt.Errorf("%s: %w", path, countError(float64(times)*float64(count)))
			}
			return w.walk(part, path, times*count, 1)
		})
	case "PoissonSampledDpEvent":
		return w.sample(e, times, sampling)
	}
	m, err := e.mechanism(sampling)
	if err != nil {
		return err
	}
	w.responds = w.responds || e.class == "RandomizedResponseDpEvent"
	return e.wrap(w.add(m, times))
}

func (w *eventWalk) sample(e *event, times int, sampling float64) error {
	if sampling < 1 {
		return e.wrap(fmt.Errorf("a sample of a sample: %w", ErrUnsupported))
	}
	p, err := e.number("sampling_probability")
	if err == nil && !(p >= 0 && p <= 1) {
		err = outOfRange("sampling_probability", p, "from 0 to 1")
	}
	if err = errors.Join(err, e.only("sampling_probability", "event")); err != nil {
		return e.wrap(err)
	}
	w.sampled = w.sampled || p < 1
	if p == 0 {
		p, times = 1, 0 // no user is in the sample; what is not an event is refused all the same
	}
	return w.walk(e.fields["event"], e.path+".event", times, p)
}

// sampledTogether adds a composition of Gaussian noise on one sample, which is Gaussian noise.
func (w *eventWalk) sampledTogether(e *event, times int, sampling float64) error {
	precision, err := e.precision()
	if err != nil || precision == 0 {
		return err
	}
	m, err := SampledGaussian(rounding.QuotientDown(1, rounding.RootUp(precision)), 1, sampling)
	if err != nil {
		return e.wrap(err)
	}
	return e.wrap(w.add(m, times))
}

func (w *eventWalk) add(m Mechanism, times int) error {
	if times == 0 {
		return nil
	}
	if w.together += times; w.together > MaxCount {
		return countError(float64(w.together))
	}
	key := eventKey{m.pair, m.concentrated}
	if at, ok := w.at[key]; ok {
		w.list[at].count += times
		return nil
	}
	m, err := m.Times(times)
	w.at[key] = len(w.list)
	w.list = append(w.list, m)
	return err
}

// event is one event of a tree; path says which, for errors.
type event struct {
	path, class string
	fields      map[string]any
}

func newEvent(value any, path string) (*event, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object with module_name and class_name", path)
	}
	e := &event{path: path, fields: fields}
	e.class, ok = fields["class_name"].(string)
	if !ok {
		return nil, fmt.Errorf("%s has no class_name", path)
	}
	module := theirModule
	if e.class == "DiscreteGaussianDpEvent" || e.class == "EpsilonDeltaDpEvent" {
		module = ourModule
	}
	if got, _ := fields["module_name"].(string); got != module {
		return nil, fmt.Errorf("%s: %s has module_name %q, not %q: %w", path, e.class, got, module, ErrUnsupported)
	}
	return e, nil
}

func (e *event) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (%s): %w", e.path, e.class, err)
}

// only refuses fields that the class does not have.
func (e *event) only(names ...string) error {
	for name := range e.fields {
		if name != "module_name" && name != "class_name" && !slices.Contains(names, name) {
			return fmt.Errorf("%s (%s): unknown field %q", e.path, e.class, name)
		}
	}
	return nil
}

// number returns a field that is a finite number.
func (e *event) number(name string) (float64, error) {
	value, ok := e.fields[name].(float64)
	if !ok {
		return 0, fmt.Errorf("%s must be a number", name)
	}
	return value, nil
}

func (e *event) whole(name string, least, most int) (int, error) {
	v, err := e.number(name)
	if err != nil {
		return 0, err
	}
	if v != math.Trunc(v) || v < float64(least) || v > float64(most) {
		return 0, outOfRange(name, v, fmt.Sprintf("an integer from %d to %d", least, most))
	}
	return int(v), nil
}

// parts calls f for every part of a composition.
func (e *event) parts(f func(part any, path string, count int) error) error {
	if e.class == "SelfComposedDpEvent" {
		count, err := e.whole("count", 0, MaxCount)
		if err = errors.Join(err, e.only("event", "count")); err != nil {
			return e.wrap(err)
		}
		return f(e.fields["event"], e.path+".event", count)
	}
	list, ok := e.fields["events"].([]any)
	if !ok {
		return e.wrap(errors.New("events must be an array"))
	}
	for i, part := range list {
		if err := f(part, fmt.Sprintf("%s.events[%d]", e.path, i), 1); err != nil {
			return err
		}
	}
	return e.only("events")
}

// precision returns Σ1/σ² of a composition of Gaussian noise, rounded up.
func (e *event) precision() (float64, error) {
	switch e.class {
	case "NoOpDpEvent":
		return 0, e.only()
	case "GaussianDpEvent":
		m, err := e.mechanism(1)
		return rounding.ProductUp(m.mu, m.mu), err
	case "ComposedDpEvent", "SelfComposedDpEvent":
	default:
		if _, err := e.mechanism(1); err != nil {
			return 0, err
		}
		return 0, e.wrap(fmt.Errorf("a composition on one sample, and not all of it Gaussian noise: %w", ErrUnsupported))
	}
	var sum total
	err := e.parts(func(part any, path string, count int) error {
		inner, err := newEvent(part, path)
		if err != nil {
			return err
		}
		one, err := inner.precision()
		sum.add(one, count)
		return err
	})
	return sum.value(), err
}

// mechanism returns the mechanism of an event that has no events in it.
func (e *event) mechanism(sampling float64) (Mechanism, error) {
	kind, ok := leaves()[e.class]
	if !ok {
		return Mechanism{}, e.wrap(ErrUnsupported)
	}
	values := make([]float64, len(kind.fields))
	var errs []error
	for i, name := range kind.fields {
		if _, given := e.fields[name]; !given && name == "xi" {
			continue // 0, as the class has it
		}
		v, err := e.number(name)
		values[i] = v
		errs = append(errs, err)
	}
	err := errors.Join(append(errs, e.only(kind.fields...))...)
	if err != nil {
		return Mechanism{}, e.wrap(err)
	}
	m, err := kind.make(values, sampling)
	return m, e.wrap(err)
}

// leaf is a class without events in it: its fields, all numbers, and what they make on a sample of
// that probability.
type leaf struct {
	fields []string
	make   func(v []float64, sampling float64) (Mechanism, error)
}

func leaves() map[string]leaf {
	return map[string]leaf{
		"NonPrivateDpEvent": {nil, func([]float64, float64) (Mechanism, error) { return Mechanism{}, ErrNotPrivate }},
		"GaussianDpEvent":   {[]string{"noise_multiplier"}, noisy(SampledGaussian)},
		"LaplaceDpEvent":    {[]string{"noise_multiplier"}, noisy(SampledLaplace)},
		"DiscreteGaussianDpEvent": {[]string{"sigma", "sensitivity"}, func(v []float64, sampling float64) (Mechanism, error) {
			if v[1] != math.Trunc(v[1]) || !(v[1] >= 1 && v[1] <= MaxSensitivity) {
				return Mechanism{}, outOfRange("sensitivity", v[1], fmt.Sprintf("an integer from 1 to %d", MaxSensitivity))
			}
			return SampledDiscreteGaussian(v[0], int(v[1]), sampling)
		}},
		"RandomizedResponseDpEvent": {[]string{"noise_parameter", "num_buckets"}, whole(func(v []float64) (Mechanism, error) {
			return randomizedResponse(v[0], v[1])
		})},
		"EpsilonDeltaDpEvent": {[]string{"epsilon", "delta"}, whole(func(v []float64) (Mechanism, error) {
			return Approx(loss.Approx{Epsilon: v[0], Delta: v[1]})
		})},
		"ZCDpEvent": {[]string{"rho", "xi"}, whole(func(v []float64) (Mechanism, error) {
			if v[1] != 0 {
				return Mechanism{}, fmt.Errorf("an xi of %v, and only 0 is priced: %w", v[1], ErrUnsupported)
			}
			if v[0] == 0 {
				return Approx(loss.Approx{})
			}
			return ZCDP(loss.ZCDP{Rho: v[0]})
		})},
	}
}

func noisy(create func(noise, sensitivity, sampling float64) (Mechanism, error)) func([]float64, float64) (Mechanism, error) {
	return func(v []float64, sampling float64) (Mechanism, error) {
		if v[0] == 0 {
			return Mechanism{}, fmt.Errorf("noise_multiplier is 0: %w", ErrNotPrivate)
		}
		return create(v[0], 1, sampling)
	}
}

// whole makes what has no price on a sample.
func whole(create func(v []float64) (Mechanism, error)) func([]float64, float64) (Mechanism, error) {
	return func(v []float64, sampling float64) (Mechanism, error) {
		m, err := create(v)
		if err == nil && sampling < 1 {
			err = fmt.Errorf("on a Poisson sample: %w", ErrUnsupported)
		}
		return m, err
	}
}

// randomizedResponse returns the mechanism that keeps one of k values with probability 1 − p and
// else draws any of the k: ε = ln(1 + k(1 − p)/p), rounded up.
func randomizedResponse(p, k float64) (Mechanism, error) {
	switch {
	case !(p >= 0 && p <= 1):
		return Mechanism{}, outOfRange("noise_parameter", p, "from 0 to 1")
	case k == 1:
		return Approx(loss.Approx{}) // one value tells nothing
	case k != math.Trunc(k) || !(k >= 2 && k <= MaxValues):
		return Mechanism{}, outOfRange("num_buckets", k, fmt.Sprintf("an integer from 2 to %d", MaxValues))
	case p == 0:
		return Mechanism{}, fmt.Errorf("noise_parameter is 0: %w", ErrNotPrivate)
	}
	ratio := rounding.QuotientUp(rounding.ProductUp(k, rounding.SumUp(1, -p)), p)
	return RandomizedResponse(math.Log1p(ratio)*(1+0x1p-50), int(k))
}
