package reading

import (
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Turns that have passed are closed, up to 16 ahead of settlement.
func TestTurnsThatHavePassedAreClosed(t *testing.T) {
	for _, c := range []struct{ passed, closed, settled, want uint64 }{
		{0, 0, 0, 0}, {3, 0, 0, 3}, {3, 3, 1, 3}, {99, 5, 2, 18}, {99, 18, 2, 18}, {99, 18, 3, 19},
	} {
		s := &Source{dep: &deployment.Deployment{Metrics: make([]deployment.CompiledMetric, 1)}}
		s.closed = c.closed
		s.classifier.turns = calendar.New(
			&schemas.Header{FromTurn: 1, Metrics: []schemas.MetricSpec{{WindowSize: 1000, WindowSlide: 1000}}}, 0)
		s.partitions = []*partition{
			{appendTime: int64(c.passed) * 1000, end: calendar.Forever, idleUntil: calendar.Never}}
		if got := s.lastClosable(c.settled); got != c.want {
			t.Errorf("%+v: closed up to %d", c, got)
		}
	}
}
