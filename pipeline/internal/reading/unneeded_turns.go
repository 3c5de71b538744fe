package reading

import "github.com/tollgate-dp/tollgate/pipeline/internal/packing"

// unneededTurns holds the positions of events in turns that this run does not settle. Their
// contributions are not kept.
type unneededTurns struct {
	first map[int32]packing.Mark // position of the first such event, by partition
	last  uint64                 // last turn of such an event; 0: none
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

// lastNeeded returns the last turn whose contributions this run may need: it may close the turn, or
// an earlier run has closed it.
func (s *Source) lastNeeded() uint64 {
	if all, _ := s.allAtEnd(); s.opts.UntilEnd && !all {
		return allTurns // later records may belong to later turns
	}
	return max(s.lastOwed(), s.closed)
}
