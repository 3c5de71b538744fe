package replay

import "time"

// pace spreads records over time.
type pace struct {
	perSecond float64 // 0: no limit
	begin     time.Time
	sent      int64
}

// next counts a record and returns the wait before it. It combines waits that are too short for a
// timer.
func (p *pace) next(now time.Time) time.Duration {
	if p.perSecond == 0 {
		return 0
	}
	if p.sent == 0 {
		p.begin = now
	}
	due := p.begin.Add(time.Duration(float64(p.sent) / p.perSecond * float64(time.Second)))
	p.sent++
	if wait := due.Sub(now); wait > 10*time.Millisecond {
		return wait
	}
	return 0
}
