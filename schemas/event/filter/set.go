package filter

import (
	"slices"

	"github.com/expr-lang/expr/vm"
)

// MaxFilters is the maximum number of filters in a set. Passes returns one bit per filter.
const MaxFilters = 64

// Set is a set of filters. A nil Set has no filters. A Set is not safe for concurrent use.
type Set struct {
	filters   []setFilter
	fields    []string // fields of all filters
	firstUses []int    // by field: the first filter that uses it

	machine vm.VM
	env     map[string]any
	present []bool // by field: whether the event has the field
}

type setFilter struct {
	*compiled
	needs []need
}

// need is a path that must exist in an event for the event to pass.
type need struct {
	field   int
	members []string
}

// NewSet returns a set without filters.
func NewSet() *Set {
	s := &Set{env: make(map[string]any)}
	s.machine.MemoryBudget = memoryCost
	return s
}

// Add compiles a filter and appends it to the set, which can hold at most MaxFilters. It returns
// the same errors as Fields.
func (s *Set) Add(text string) error {
	f, err := compile(text)
	if err != nil {
		return err
	}
	for _, name := range f.names {
		if !slices.Contains(s.fields, name) {
			s.fields = append(s.fields, name)
			s.present = append(s.present, false)
			s.firstUses = append(s.firstUses, len(s.filters))
		}
	}
	r := setFilter{compiled: f}
	for _, path := range f.needs {
		r.needs = append(r.needs, need{field: slices.Index(s.fields, path[0]), members: path[1:]})
	}
	s.filters = append(s.filters, r)
	return nil
}

// Names returns the names of the fields that the filters use, in order of first use. The caller
// must not modify the slice.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.fields
}

// FirstUse returns the index of the first filter that uses the field name, one of Names.
func (s *Set) FirstUse(name string) int { return s.firstUses[slices.Index(s.fields, name)] }

// Put sets the event's value of the field Names()[i]. The value is nil, a bool, int64, float64,
// string, []any or map[string]any. present is false if the event lacks the field.
func (s *Set) Put(i int, v any, present bool) { s.env[s.fields[i]], s.present[i] = v, present }

// Passes evaluates all filters. Bit i of the result is set if filter i is true. A filter whose
// evaluation fails is false. Put must have been called for every field of the event.
func (s *Set) Passes() uint64 {
	var bits uint64
	for i := range s.filters {
		if s.passes(&s.filters[i]) {
			bits |= 1 << i
		}
	}
	return bits
}

func (s *Set) passes(f *setFilter) bool {
	for _, need := range f.needs {
		if !s.present[need.field] {
			return false
		}
		value := s.env[s.fields[need.field]]
		for _, name := range need.members {
			record, ok := value.(map[string]any)
			if !ok {
				break // the filter's evaluation handles other types
			}
			if value, ok = record[name]; !ok {
				return false
			}
		}
	}
	result, err := s.machine.Run(f.program, s.env)
	return err == nil && result == true
}
