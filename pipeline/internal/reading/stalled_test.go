package reading

import (
	"testing"
	"time"
)

// Each epoch that is given up for the same turn doubles the time that the next one has, up to a
// day; a turn that follows a settled one has the usual limit again.
func TestAHeldUpTurnIsGivenTwiceAsLong(t *testing.T) {
	for _, c := range []struct {
		heldUp        int
		settled       uint64
		open          time.Duration
		stalled       bool
		limitOfTheRun time.Duration
	}{
		{0, 7, 3 * time.Minute, true, 2 * time.Minute},
		{1, 7, 3 * time.Minute, false, 2 * time.Minute},
		{1, 7, 5 * time.Minute, true, 2 * time.Minute},
		{1, 8, 3 * time.Minute, true, 2 * time.Minute},
		{27, 7, 23 * time.Hour, false, 2 * time.Minute},
		{100, 7, 25 * time.Hour, true, 2 * time.Minute},
		{100, 7, 25 * time.Hour, false, 26 * time.Hour},
	} {
		s := &Source{opts: Options{StallLimit: c.limitOfTheRun}, stalledEpochs: c.heldUp, stalledAfter: 7}
		s.opened, s.openedAt = c.settled+1, time.Now().Add(-c.open)
		if got := s.settleOverdue(c.settled); got != c.stalled {
			t.Errorf("%+v: stalled is %v", c, got)
		}
	}
}
