package demo

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// publicKeys is the cure that needs no threshold.
const publicKeys = "--keys public --public-keys FILE, for keys that are known without looking at the data"

// raised is a bound with a greater value: the settings with it, and what they make of the source.
type raised struct {
	value    int
	settings Settings
	limits
	outcome
}

// hides reports whether it may be that no key is released.
func (r raised) hides() bool { return r.nothing > sureOf }

// raiseSteps is how many values of a bound are tried in one reading of the source.
const raiseSteps = 32

// raise says what it brings to raise a bound to the value that keeps 95 % of the records. A greater
// bound makes counts less precise, and the threshold of private keys higher: where nothing was
// released, only a value is named with which some key is released.
func (e *explaining) raise(now int, keeps uint64, set func(*Settings, int)) (string, error) {
	wanted := int(keeps)
	if wanted <= now {
		return "", nil
	}
	keep := number(keeps) + " would keep 95 %, at the cost of more noise"
	if !e.Private() {
		return ": " + keep, nil
	}
	if !e.nothing {
		top, err := e.with(wanted, set)
		if err != nil || math.IsInf(top.tau, 1) {
			return "", err
		}
		return fmt.Sprintf(": %s and of a threshold of %s (now %s)", keep, size(top.tau), size(e.tau)), nil
	}
	best, top, err := e.greatest(now, wanted, set)
	if err != nil {
		return "", err
	}
	reaches := fmt.Sprintf("the largest count then comes to about %s, the threshold to %s (now %s)", terminal.Number(best.largest, 0), size(best.tau), size(e.tau))
	switch {
	case best.value == wanted:
		return fmt.Sprintf(": %s; %s", keep, reaches), nil
	case best.value > 0:
		return fmt.Sprintf(": %s is the greatest value that does not hide all keys: %s; %s would keep 95 %%, but hide all keys",
			number(uint64(best.value)), reaches, number(keeps)), nil
	case math.IsInf(top.tau, 1):
		return fmt.Sprintf("; with %s, which would keep 95 %%, the settings are refused, and smaller values hide all keys; %s, has no threshold", number(keeps), publicKeys), nil
	}
	return fmt.Sprintf("; it cannot be raised here without hiding all keys: with %s, which would keep 95 %%, the largest count comes to about %s, and the threshold to %s (now %s); %s, has no threshold",
		number(keeps), terminal.Number(top.largest, 0), size(top.tau), size(e.tau), publicKeys), nil
}

// greatest returns the greatest value above low and up to high with which some key is released
// (value 0: none of those tried does), and what high makes of the source. With a
// greater bound a threshold grows by more than counts do, so that between two values the search
// goes on.
func (e *explaining) greatest(low, high int, set func(*Settings, int)) (best, top raised, err error) {
	for first := true; low < high; first = false {
		tried, err := e.try(low, high, set)
		if err != nil {
			return best, top, err
		}
		if first {
			top = tried[len(tried)-1]
		}
		i := len(tried) - 1
		for i >= 0 && tried[i].hides() {
			i--
		}
		if i >= 0 {
			best, low = tried[i], tried[i].value
		}
		if i == len(tried)-1 {
			break
		}
		high = tried[i+1].value - 1
	}
	return best, top, nil
}

// try reads the source with values of a bound from low+1 to high, ascending, both of them among
// them.
func (e *explaining) try(low, high int, set func(*Settings, int)) ([]raised, error) {
	var values []int
	for i := range raiseSteps {
		step := math.Pow(float64(high-low), float64(i)/(raiseSteps-1))
		values = append(values, min(high, low+int(math.Round(step))))
	}
	values[raiseSteps-1] = high
	var out []raised
	for _, value := range slices.Compact(values) {
		r, err := e.with(value, set)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, e.count(out)
}

// count reads the source with other settings.
func (e *explaining) count(tried []raised) error {
	var trials []trial
	for _, r := range tried {
		trials = append(trials, trial{boundsOf(r.settings), r.limits})
	}
	f, err := e.look(e.source, e.limits, trials)
	if err != nil {
		return err
	}
	for i := range tried {
		tried[i].outcome = f.sizes[0].outcomes[i]
	}
	return nil
}

// with returns the settings with a value of a bound, and their threshold.
func (e *explaining) with(value int, set func(*Settings, int)) (raised, error) {
	r := raised{value: value, settings: e.Settings}
	set(&r.settings, value)
	var refused *pipeline.ConfigError
	var err error
	if r.limits, err = r.settings.limits(); errors.As(err, &refused) {
		r.limits, err = limits{tau: math.Inf(1)}, nil
	}
	return r, err
}

// size writes a threshold.
func size(tau float64) string { return number(uint64(math.Ceil(tau))) }
