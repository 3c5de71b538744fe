package filter

import (
	"slices"

	"github.com/expr-lang/expr/vm"
)

// MaxFilters is the greatest number of filters in a set: Passes returns a bit for each.
const MaxFilters = 64

// Set runs filters. A nil Set has none. Not for concurrent use.
type Set struct {
	filters []running
	fields  []string // fields of all filters
	users   []int    // by field: the first filter that uses it

	machine vm.VM
	env     map[string]any
	present []bool // by field: whether the event has it
}

type running struct {
	*compiled
	needs []need
}

// need is a path that an event must have to pass.
type need struct {
	field int
	below []string
}

// NewSet returns a set without filters.
func NewSet() *Set {
	s := &Set{env: make(map[string]any)}
	s.machine.MemoryBudget = memoryCost
	return s
}

// Add compiles the next of at most MaxFilters filters. Errors are as for Fields.
func (s *Set) Add(text string) error {
	f, err := compile(text)
	if err != nil {
		return err
	}
	for _, name := range f.names {
		if !slices.Contains(s.fields, name) {
			s.fields = append(s.fields, name)
			s.present = append(s.present, false)
			s.users = append(s.users, len(s.filters))
		}
	}
	r := running{compiled: f}
	for _, path := range f.needs {
		r.needs = append(r.needs, need{field: slices.Index(s.fields, path[0]), below: path[1:]})
	}
	s.filters = append(s.filters, r)
	return nil
}

// Names returns the distinct fields of the filters in order of first use. The caller must not
// modify the slice.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.fields
}

// FirstUse returns the index of the first filter that uses a field from Names.
func (s *Set) FirstUse(name string) int { return s.users[slices.Index(s.fields, name)] }

// Put sets the event's value for field i of Names: nil, bool, int64, float64, string, []any or
// map[string]any. present is false if the event lacks the field.
func (s *Set) Put(i int, v any, present bool) {
	s.env[s.fields[i]], s.present[i] = v, present
}

// Passes evaluates all filters after Put for every field: bit i is set if filter i is true. A
// filter that fails to evaluate is false.
func (s *Set) Passes() uint64 {
	var bits uint64
	for i := range s.filters {
		if s.passes(&s.filters[i]) {
			bits |= 1 << i
		}
	}
	return bits
}

func (s *Set) passes(f *running) bool {
	for _, need := range f.needs {
		if !s.present[need.field] {
			return false
		}
		value := s.env[s.fields[need.field]]
		for _, name := range need.below {
			record, ok := value.(map[string]any)
			if !ok {
				break // the evaluation decides
			}
			if value, ok = record[name]; !ok {
				return false
			}
		}
	}
	result, err := s.machine.Run(f.program, s.env)
	return err == nil && result == true
}
