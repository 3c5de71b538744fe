package units

import "fmt"

// RangeError describes a number that is outside the range of its parameter.
type RangeError struct {
	Parameter string  // name of the parameter for the user: "epsilon", "delta", "sigma"
	Value     float64 // the given number; may be NaN or infinite
	Range     string  // the permitted range, as in "at least 0 and below 1"
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s is %v, but must be %s", e.Parameter, e.Value, e.Range)
}

// Require returns a *RangeError unless ok is true. allowed is the permitted range, as in
// RangeError.Range. For the first error of several calls, use cmp.Or.
func Require(ok bool, parameter string, value float64, allowed string) error {
	if ok {
		return nil
	}
	return &RangeError{Parameter: parameter, Value: value, Range: allowed}
}
