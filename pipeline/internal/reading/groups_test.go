package reading

import (
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

// The report of a reader about a hundred thousand turns read at once, each with an event, fits in a
// record of control, during and at the end of a bounded run; group 0 can make the CLOSE of every
// passed turn from it.
func TestAPassedFitsInARecordHoweverFarWasRead(t *testing.T) {
	const turns, closed = 100_000, 40
	for name, atEnd := range map[string]bool{"in the middle": false, "at the end": true} {
		t.Run(name, func(t *testing.T) {
			s := &Source{opts: Options{Group: 1, Groups: 2, Bounded: true},
				dep: &deployment.Deployment{Metrics: make([]deployment.CompiledMetric, 1)}}
			s.classifier.turns = calendar.New(
				&schemas.Header{FromTurn: 1, Metrics: []schemas.MetricSpec{{WindowSize: 1000, WindowSlide: 1000}}}, 0)
			p := &partition{id: 1, next: turns, end: turns + 1, appendTime: 1000 * turns, idleUntil: calendar.Never}
			if atEnd {
				p.end = turns
			}
			s.partitions = []*partition{p}
			s.session = session{partitions: s.partitions, buffers: map[uint64]*packing.Buffer{}, opened: closed,
				closed: closed}
			for turn := uint64(closed + 1); turn <= turns; turn++ { // turn n has the record n − 1
				s.buffers[turn] = &packing.Buffer{Records: 1,
					First: map[int32]packing.Mark{1: {Offset: int64(turn) - 1, AppendTime: 1000*int64(turn) - 1}}}
			}
			passed := &schemas.Passed{Group: 1, Turn: s.passedUpTo()}
			s.describe(passed, closed)
			data, err := schemas.EncodeControl(schemas.Control{Body: passed})
			if err != nil || len(data) > controllog.MaxRecord/100 {
				t.Fatalf("%d bytes, %v", len(data), err)
			}
			if passed.Turn != closed+lookahead || len(passed.Each) != lookahead {
				t.Errorf("passed %d turns, with %d numbers of records", passed.Turn-closed, len(passed.Each))
			}
			for turn := uint64(closed + 1); turn <= passed.Turn; turn++ {
				if c := passed.Cuts[0].For(turn); c.Cut != turns || c.Restart != int64(turn) ||
					c.AppendTime != 1000*int64(turn+1)-1 {
					t.Fatalf("turn %d: %+v", turn, c)
				}
			}
			for turn := range s.buffers { // all of it is closed but the last turns
				if turn < turns-1 {
					delete(s.buffers, turn)
				}
			}
			s.closed, s.opened = turns-2, turns-2
			if got, end := s.passedUpTo(), uint64(allTurns); atEnd && got != end || !atEnd && got != turns {
				t.Errorf("in the end %d turns were passed", got)
			}
		})
	}
}
