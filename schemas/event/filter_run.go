package event

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/vm"
)

// filterSet runs the filters of a format. Not for concurrent use.
type filterSet struct {
	filters []runningFilter
	fields  []string // the fields that any of them uses; their numbers begin at fieldCount
	users   []int    // by field: the first filter that uses it

	machine vm.VM
	env     map[string]any
	present []bool // by field: the event has it
	texts   internedTexts
}

type runningFilter struct {
	*compiledFilter
	needs []filterNeed
}

// filterNeed is a path without which no event passes.
type filterNeed struct {
	field int
	below []string
}

// newFilterSet compiles filters; nil for none. Errors are *FormatError.
func newFilterSet(texts []string) (*filterSet, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > MaxFilters {
		return nil, badFormat("filters", "%d different filters; the limit is %d", len(texts), MaxFilters)
	}
	s := &filterSet{env: make(map[string]any), texts: make(internedTexts)}
	s.machine.MemoryBudget = filterMemoryCost
	for i, text := range texts {
		f, err := compileFilter(text)
		if err != nil {
			return nil, badFormat(fmt.Sprintf("filters[%d]", i), "%v", err)
		}
		for _, name := range f.names {
			if !slices.Contains(s.fields, name) {
				s.fields = append(s.fields, name)
				s.users = append(s.users, i)
			}
		}
		r := runningFilter{compiledFilter: f}
		for _, need := range f.needs {
			r.needs = append(r.needs, filterNeed{field: slices.Index(s.fields, need[0]), below: need[1:]})
		}
		s.filters = append(s.filters, r)
	}
	s.present = make([]bool, len(s.fields))
	return s, nil
}

func (s *filterSet) count() int { return len(s.names()) }

func (s *filterSet) names() []string {
	if s == nil {
		return nil
	}
	return s.fields
}

// firstUse is the FormatError field of the first filter that uses a field.
func (s *filterSet) firstUse(name string) string {
	return fmt.Sprintf("filters[%d]", s.users[slices.Index(s.fields, name)])
}

// passes evaluates all filters for the record that was decoded last.
func (d *Decoder) passes() uint64 {
	s := d.filter
	for i, name := range s.fields {
		var v any
		switch d.format {
		case "jsonl":
			v, s.present[i] = s.texts.jsonAny(&d.found[fieldCount+i])
		case "avro":
			v, s.present[i] = d.avro.any(i, s.texts)
		default:
			v, s.present[i] = s.texts.columnAny(d.raw[fieldCount+i]), true
		}
		s.env[name] = v
	}
	var bits uint64
	for i := range s.filters {
		if s.passes(&s.filters[i]) {
			bits |= 1 << i
		}
	}
	return bits
}

func (s *filterSet) passes(f *runningFilter) bool {
	for _, need := range f.needs {
		if !s.present[need.field] {
			return false
		}
		at := s.env[s.fields[need.field]]
		for _, name := range need.below {
			record, ok := at.(map[string]any)
			if !ok {
				break // evaluation says what becomes of it
			}
			if at, ok = record[name]; !ok {
				return false
			}
		}
	}
	result, err := s.machine.Run(f.program, s.env)
	return err == nil && result == true
}
