package units

import "fmt"

// RangeError reports a number outside its parameter's range.
type RangeError struct {
	Parameter string  // the user's name for it: "epsilon", "delta", "sigma"
	Value     float64 // the given number; may be NaN or infinite
	Range     string  // the allowed range, as a text
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s is %v, but must be %s", e.Parameter, e.Value, e.Range)
}

// Require returns a *RangeError unless ok. To get the first error of several calls, combine them
// with cmp.Or.
func Require(ok bool, parameter string, value float64, allowed string) error {
	if ok {
		return nil
	}
	return &RangeError{Parameter: parameter, Value: value, Range: allowed}
}
