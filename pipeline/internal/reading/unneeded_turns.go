package reading

import "github.com/tollgate-dp/tollgate/pipeline/internal/packing"

// unneededTurns remembers the turns that this run does not settle: no contributions, only the
// positions at which a later run must read them.
type unneededTurns struct {
	first map[int32]packing.Mark // by partition: the position of its first event of such a turn
	last  uint64                 // the last such turn that has an event; 0 for none
}

// skipEvent records the position of an event whose turn this run does not settle.
func (s *Source) skipEvent(partition int32, turn uint64, position packing.Mark) {
	if s.unneeded.first == nil {
		s.unneeded.first = map[int32]packing.Mark{}
	}
	if _, seen := s.unneeded.first[partition]; !seen {
		s.unneeded.first[partition] = position
	}
	s.unneeded.last = max(s.unneeded.last, turn)
}

// lastNeeded returns the last turn whose contributions this run may need: one that it may close, or
// that an earlier run has closed.
func (s *Source) lastNeeded() uint64 {
	if all, _ := s.allAtEnd(); s.opts.UntilEnd && !all {
		return allTurns // records that are not read yet may owe more
	}
	return max(s.lastOwed(), s.closed)
}
