package deployment

import (
	"fmt"
	"strings"
)

// Difference is one setting that differs from the generation in force.
type Difference struct {
	What string `json:"what"` // the point, as an operator would call it
	// Values are the fields that make the difference, with what they were and are. Never empty, but
	// if a metric is new or gone, or only the order of metrics differs.
	Values []Value `json:"values"`
	// Never is why the point can never be changed like this; "" if a change can put it in force.
	Never string `json:"-"`
}

// Value is a field of the configuration whose value differs.
type Value struct {
	Field string `json:"field"` // as in a configuration file; in a metric, from the metric on
	Was   string `json:"in_force"`
	Is    string `json:"configured"`
}

// Detail returns the values in brackets, as the end of a sentence; "" if there are none.
func (d Difference) Detail() string {
	if len(d.Values) == 0 {
		return ""
	}
	var parts []string
	for _, v := range d.Values {
		parts = append(parts, fmt.Sprintf("%s: in force %s, configured %s", v.Field, v.Was, v.Is))
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
