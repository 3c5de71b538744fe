package reading

import (
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// trustedTime checks this machine's clock against the time that has passed and against the broker's
// clock. As long as no two of the three agree, the earliest closes windows and the latest decides
// which records are of the future. The passed time excludes the time in which the machine slept: a
// broker's time from before the clocks began to differ excludes it, too, so that it makes no record
// one of the future. Times are in milliseconds. An offset is a time minus the time passed since the
// run began.
type trustedTime struct {
	read      func() (wall, passed int64)
	tolerance int64
	steady    *int64 // the wall clock's offset when it was last confirmed
	broker    *int64
	heard     int64 // when the broker's time was heard last, in time passed
	since     int64 // when the clocks began to differ, in time passed
	differ    bool
	logged    watch.Repeat
	log       *slog.Logger
}

const (
	// clocksDiffer is by how much clocks may differ in addition to the skew.
	clocksDiffer = 5 * time.Second
	// adoptAfter is how long a clock that was set must go on to be believed if no broker shows
	// its time.
	adoptAfter = time.Hour
)

func newTrustedTime(skew time.Duration, log *slog.Logger) *trustedTime {
	began := time.Now()
	return &trustedTime{tolerance: (skew + clocksDiffer).Milliseconds(), log: log, read: func() (int64, int64) {
		now := time.Now()
		return now.UnixMilli(), now.Sub(began).Milliseconds()
	}}
}

// hear records a broker's append time that is at most some milliseconds old.
func (c *trustedTime) hear(stamp, age int64) {
	if stamp <= 0 || age > clocksDiffer.Milliseconds() {
		return
	}
	_, passed := c.read()
	offset := stamp - passed
	if c.broker == nil && c.steady != nil && !c.agree(*c.steady, offset) {
		c.steady = nil // nothing has confirmed it
	}
	c.broker, c.heard = &offset, passed
}

func (c *trustedTime) agree(a, b int64) bool { return max(a, b)-min(a, b) <= c.tolerance }

// now returns the time that closes windows, and the one that makes records of the future. They
// differ only while no two clocks agree.
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
		// A clock may be slow within the tolerance: a record is of the future only if no clock that
		// agrees with it has reached the record's time.
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

// report logs that the clocks differ, and that they agree again.
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
