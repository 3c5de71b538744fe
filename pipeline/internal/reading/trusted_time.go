package reading

import (
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// trustedTime compares three times: this machine's wall clock, the time elapsed since the run
// began, and the broker's clock. While no two of them agree, the earliest closes windows, and the
// latest decides which records are in the future. The elapsed time excludes the time during which
// the machine slept. So does a broker's time that was received before the clocks began to differ,
// which therefore does not decide which records are in the future. Times are in milliseconds. An
// offset is a time minus the elapsed time.
type trustedTime struct {
	read      func() (wall, elapsed int64)
	tolerance int64
	steady    *int64 // offset of the wall clock when it was last confirmed; nil: never
	broker    *int64 // offset of the broker's clock; nil: unknown
	brokerAt  int64  // elapsed time when the broker's time was last received
	since     int64  // elapsed time when the clocks began to differ
	differ    bool
	logged    watch.Repeat
	log       *slog.Logger
}

const (
	// clocksDiffer is how far clocks may differ, in addition to the skew.
	clocksDiffer = 5 * time.Second
	// adoptAfter is how long a clock that was set is not trusted while the broker's time is
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

// setBroker records an append time of the broker. age is the longest time that may have passed
// since then.
func (c *trustedTime) setBroker(stamp, age int64) {
	if stamp <= 0 || age > clocksDiffer.Milliseconds() {
		return
	}
	_, elapsed := c.read()
	offset := stamp - elapsed
	if c.broker == nil && c.steady != nil && !c.agree(*c.steady, offset) {
		c.steady = nil // no broker had confirmed it
	}
	c.broker, c.brokerAt = &offset, elapsed
}

func (c *trustedTime) agree(a, b int64) bool { return max(a, b)-min(a, b) <= c.tolerance }

// now returns two times. earliest is the time that closes windows. Records that exceed latest by
// more than the skew are in the future.
func (c *trustedTime) now() (earliest, latest int64) {
	wall, elapsed := c.read()
	offset := wall - elapsed
	low, high := offset, offset
	for _, other := range []*int64{c.steady, c.broker} {
		if other != nil {
			low, high = min(low, *other), max(high, *other)
		}
	}
	differed := c.differ
	c.differ = high-low > c.tolerance
	if c.differ && !differed {
		c.since = elapsed
	}
	steady := c.steady != nil && c.agree(offset, *c.steady)
	switch {
	case !c.differ, steady, c.broker != nil && c.agree(offset, *c.broker), c.broker == nil &&
		elapsed-c.since > adoptAfter.Milliseconds():
		low, high = offset, offset
		// The wall clock may be slow within the tolerance, so a record is in the future only if no
		// agreeing clock has reached its time.
		for _, other := range []*int64{c.steady, c.broker} {
			if other != nil && c.agree(offset, *other) {
				high = max(high, *other)
			}
		}
		c.steady = &offset
	case c.broker != nil && c.steady != nil && c.agree(*c.steady, *c.broker):
		if low = *c.steady; c.brokerAt >= c.since {
			high = low
		}
	}
	return low + elapsed, high + elapsed
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
