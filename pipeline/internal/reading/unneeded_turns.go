package reading

import "github.com/tollgate-dp/tollgate/pipeline/internal/packing"

// unneededTurns is what READ keeps of turns that this run does not settle: no contributions, only
// the positions from which a later run must read them.
type unneededTurns struct {
	first map[int32]packing.Mark // by partition: the position of its first event of such a turn
	last  uint64                 // the last such turn that has an event; 0 for none
}

// skipEvent records the position of an event whose turn this run does not settle.
func (s *Source) skipEvent(partition int32, turn uint64, at packing.Mark) {
	if s.unneeded.first == nil {
		s.unneeded.first = map[int32]packing.Mark{}
	}
	if _, seen := s.unneeded.first[partition]; !seen {
		s.unneeded.first[partition] = at
	}
	s.unneeded.last = max(s.unneeded.last, turn)
}

// lastNeeded returns the last turn of which this run may need contributions. A run ends once it has
// settled the last turn that it owes. Until then it closes a bounded number of turns after the
// settled one, and a reader declares a bounded number of further turns passed.
func (s *Source) lastNeeded() uint64 {
	if s.lastKnown {
		return s.last
	}
	owed := s.owed
	switch {
	case s.opts.UntilEnd:
		all, last := s.allAtEnd()
		if !all || s.opts.Group > 0 { // other groups may owe more than this one knows of
			return allTurns
		}
		owed = last
	case s.opts.Bounded || s.opts.Until.IsZero():
		return allTurns
	}
	ahead := max(closeAhead, 2*uint64(s.dep.Config.CatchUp)) + lookahead
	return min(max(owed, s.closed), allTurns-ahead) + ahead
}
