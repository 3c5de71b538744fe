package replay

import (
	"testing"
	"time"
)

func TestReplayKeepsToItsRate(t *testing.T) {
	p := pace{perSecond: 100}
	now := time.Unix(0, 0)
	for range 250 {
		now = now.Add(p.next(now))
	}
	if got := now.Sub(time.Unix(0, 0)); got < 2400*time.Millisecond || got > 2500*time.Millisecond {
		t.Errorf("250 records at 100/s took %v", got)
	}
}
