package reading

import (
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// trustedTime compares this machine's clock with the time elapsed since the run began and with the
// broker's clock. While no two of the three agree, the earliest closes windows and the latest
// decides which records are in the future. The elapsed time excludes the time during which the
// machine slept, and so does a broker's time that was received before the clocks began to differ;
// such a time does not decide which records are in the future. Times are in milliseconds. An offset
// is a time minus the elapsed time.
type trustedTime struct {
	read      func() (wall, passed int64)
	tolerance int64
	steady    *int64 // offset of the wall clock when last confirmed
	broker    *int64
	heard     int64 // passed time when the broker's time was last heard
	since     int64 // passed time when the clocks began to differ
	differ    bool
	logged    watch.Repeat
	log       *slog.Logger
}

const (
	// clocksDiffer is the time by which clocks may differ, in addition to the skew.
	clocksDiffer = 5 * time.Second
	// adoptAfter is how long a clock is not trusted after it was set, if the broker's time is
	// unknown.
	adoptAfter = time.Hour
)

func newTrustedTime(skew time.Duration, log *slog.Logger) *trustedTime {
	began := time.Now()
	return &trustedTime{tolerance: (skew + clocksDiffer).Milliseconds(), log: log, read: func() (int64, int64) {
		now := time.Now()
		return now.UnixMilli(), now.Sub(began).Milliseconds()
	}}
}

// hear records a broker's append time with its greatest possible age.
func (c *trustedTime) hear(stamp, age int64) {
	if stamp <= 0 || age > clocksDiffer.Milliseconds() {
		return
	}
	_, passed := c.read()
	offset := stamp - passed
	if c.broker == nil && c.steady != nil && !c.agree(*c.steady, offset) {
		c.steady = nil // it was never confirmed
	}
	c.broker, c.heard = &offset, passed
}

func (c *trustedTime) agree(a, b int64) bool { return max(a, b)-min(a, b) <= c.tolerance }

// now returns the time that closes windows, and the time after which records are in the future if
// they exceed it by more than the skew.
func (c *trustedTime) now() (earliest, latest int64) {
	wall, passed := c.read()
	offset := wall - passed
	low, high := offset, offset
	for _, other := range []*int64{c.steady, c.broker} {
		if other != nil {
			low, high = min(low, *other), max(high, *other)
		}
	}
	was := c.differ
	c.differ = high-low > c.tolerance
	if c.differ && !was {
		c.since = passed
	}
	steady := c.steady != nil && c.agree(offset, *c.steady)
	switch {
	case !c.differ, steady, c.broker != nil && c.agree(offset, *c.broker), c.broker == nil &&
		passed-c.since > adoptAfter.Milliseconds():
		low, high = offset, offset
		// A clock may be slow within the tolerance, so a record is in the future only if no
		// agreeing clock has reached its time.
		for _, other := range []*int64{c.steady, c.broker} {
			if other != nil && c.agree(offset, *other) {
				high = max(high, *other)
			}
		}
		c.steady = &offset
	case c.broker != nil && c.steady != nil && c.agree(*c.steady, *c.broker):
		if low = *c.steady; c.heard >= c.since {
			high = low
		}
	}
	return low + passed, high + passed
}

// report logs when the clocks differ, and when they agree again.
func (c *trustedTime) report(now time.Time) {
	switch {
	case c.differ && c.logged.Due(now):
		c.log.Warn("the clocks of this machine and of the broker do not agree, or one was set: check both. Until two " +
			"sources agree, the earliest time closes windows")
	case !c.differ && c.logged.Reported():
		c.logged = watch.Repeat{}
		c.log.Warn("the clocks agree again")
	}
}
