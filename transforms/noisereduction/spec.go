package noisereduction

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Kind is the rule by which a ladder chooses its next precision.
type Kind string

const (
	// Adaptive computes the next precision from the last estimate. It chooses a precision just
	// below the one that would meet the stop rule, in steps from ×1.0508 to ×16. After an estimate
	// ≤ 0, the step is ×16.
	Adaptive Kind = "adaptive"
	// Geometric multiplies the precision by a fixed factor.
	Geometric Kind = "geometric"
)

// Target is the accuracy at which a ladder stops: an error of at most max(Relative·count, Absolute)
// with the given Confidence. If Relative and Absolute are 0, the ladder goes to its top, and Met is
// never true.
type Target struct {
	Relative   float64 // 0 (no relative target) or in [1e-6, 0.5]
	Absolute   float64 // counts; 0 (no absolute target) or in [2^-20, 2^52]
	Confidence float64 // from LeastConfidence to MostConfidence
}

// Check returns a *units.RangeError if "relative", "absolute" or "confidence" is out of range.
func (t Target) Check() error {
	switch {
	case t.Relative != 0 && !(t.Relative >= leastRelative && t.Relative <= 0.5):
		return &units.RangeError{Parameter: "relative", Value: t.Relative, Range: "0 (no target) or from 1e-6 to 0.5"}
	case t.Absolute != 0 && !(t.Absolute >= leastAbsolute && t.Absolute <= MaxCount):
		return &units.RangeError{Parameter: "absolute", Value: t.Absolute, Range: "0 (no target) or from 2^-20 to 2^52"}
	case !(t.Confidence >= LeastConfidence && t.Confidence <= MostConfidence):
		return &units.RangeError{Parameter: "confidence", Value: t.Confidence,
			Range: fmt.Sprintf("from %v to %v", LeastConfidence, MostConfidence)}
	}
	return nil
}

// Private contains the parameters of a threshold for keys whose existence is private. The ladder
// releases nothing unless the noisy count of the first rung is above the threshold.
type Private struct {
	Contribution uint64 // greatest contribution of one user to one count, at least 1
	// DeltaKey is above 0 and at most 1/(4·Contribution²). A key to which only one user contributes
	// passes with probability at most c²·DeltaKey, where c is the contribution.
	DeltaKey units.Delta
}

// Spec contains the parameters of a ladder.
type Spec struct {
	Kind   Kind
	Factor float64 // geometric: step of the precision, LeastFactor to MostFactor; adaptive: unused
	First  units.Precision
	Top    units.Precision // never exceeded
	Target Target
	// Private is nil for public keys.
	Private *Private
}

// ErrSpec is wrapped by every error of Compile.
var ErrSpec = errors.New("impossible ladder")

func specError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
}

// Ranges of a ladder's factor and of a target.
const (
	LeastFactor     = 1.05
	MostFactor      = 16
	LeastConfidence = 0.8
	MostConfidence  = 0.999

	leastRelative = 1e-6
	leastAbsolute = 0x1p-20
)

func (s Spec) validate() error {
	switch {
	case s.Kind != Adaptive && s.Kind != Geometric:
		return specError("kind is %q, but must be %q or %q", s.Kind, Adaptive, Geometric)
	case s.Kind == Geometric && !(s.Factor >= LeastFactor && s.Factor <= MostFactor):
		return specError("factor is %v, but must be between %v and %v", s.Factor, LeastFactor, MostFactor)
	case s.First.IsZero():
		return specError("the first precision is 0")
	case s.First.Cmp(s.Top) > 0:
		return specError("the first precision %g is greater than the top %g", s.First.Float(), s.Top.Float())
	}
	if err := s.Target.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return s.Private.validate()
}

func (p *Private) validate() error {
	switch {
	case p == nil:
		return nil
	case p.Contribution == 0 || p.Contribution > MaxCount:
		return specError("contribution is %d, but must be between 1 and 2^52", p.Contribution)
	case p.DeltaKey.IsZero():
		return specError("the delta per key is 0 (below 2^-80): no threshold is high enough")
	case p.DeltaKey.Float()*float64(p.Contribution)*float64(p.Contribution) > 0.25:
		return specError("the delta per key, %g, times the square of the contribution, %d, must be at most 1/4",
			p.DeltaKey.Float(), p.Contribution)
	}
	return nil
}
