package reading

import (
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/schemas"
)

// A span has as many turns as have passed if no other turn is closed ahead of settlement, and
// otherwise CatchUp turns; never a turn that has not passed.
func TestSpansAreOfTurnsThatHavePassed(t *testing.T) {
	for _, c := range []struct {
		most                    int
		passed, closed, settled uint64
		want                    []uint64
	}{
		{1, 3, 0, 0, []uint64{1, 2, 3}},
		{1, 99, 5, 2, []uint64{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}}, // 16 ahead of settlement
		{4, 0, 0, 0, nil},
		{4, 1, 0, 0, []uint64{1}},
		{4, 3, 0, 0, []uint64{3}},
		{4, 9, 0, 0, []uint64{4, 8}}, // the ninth waits for settlement, not for a tenth
		{4, 9, 8, 4, nil},
		{4, 9, 8, 8, []uint64{9}},
		{4, 99, 0, 0, []uint64{4, 8, 12, 16}},
		{16, 99, 3, 3, []uint64{19, 35}},
	} {
		s := &Source{dep: &deployment.Deployment{Config: deployment.Config{CatchUp: c.most},
			Metrics: make([]deployment.CompiledMetric, 1)}}
		s.classifier.turns = calendar.New(
			&schemas.Header{FromTurn: 1, Metrics: []schemas.MetricSpec{{WindowSize: 1000, WindowSlide: 1000}}}, 0)
		s.partitions = []*partition{
			{appendTime: int64(c.passed) * 1000, end: calendar.Forever, idleUntil: calendar.Never}}
		var got []uint64
		for closed := c.closed; ; {
			last := s.nextSpan(closed, c.settled)
			if last == closed {
				break
			}
			got, closed = append(got, last), last
		}
		if len(got) != len(c.want) {
			t.Errorf("%+v: closed up to %v", c, got)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%+v: closed up to %v", c, got)
			}
		}
	}
}
