package deployment

import (
	"fmt"
	"strings"
)

// Difference is a setting whose configured value differs from the value in force.
type Difference struct {
	What string `json:"what"` // name of the setting for an operator
	// Values are the fields that differ. The list is empty only if a metric was added or removed,
	// or if only the order of metrics differs.
	Values []Value `json:"values"`
	Never  string  `json:"-"` // reason why no change can put the setting in force; "" if a change can
}

// Value is a field of the configuration whose value differs.
type Value struct {
	Field string `json:"field"` // path in a configuration file; within a metric, relative to the metric
	Was   string `json:"in_force"`
	Is    string `json:"configured"`
}

// Detail returns the values in brackets, to end a sentence, or "" if there are none.
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
