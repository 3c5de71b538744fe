package reading

import "github.com/tollgate-dp/tollgate/pipeline/internal/packing"

// beyond is what READ keeps of the turns that this run does not need: no contributions, only the
// positions from which a later run reads them.
type beyond struct {
	first map[int32]packing.Mark // by partition: the position of its first event of such a turn
	last  uint64                 // the last such turn that has an event; 0 for none
}

// pass notes an event of a turn that is not needed.
func (s *Source) pass(partition int32, turn uint64, at packing.Mark) {
	if s.beyond.first == nil {
		s.beyond.first = map[int32]packing.Mark{}
	}
	if _, seen := s.beyond.first[partition]; !seen {
		s.beyond.first[partition] = at
	}
	s.beyond.last = max(s.beyond.last, turn)
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
