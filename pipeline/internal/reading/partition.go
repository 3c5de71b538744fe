package reading

import (
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// partition is READ's state of one partition of the events topic.
type partition struct {
	id          int32
	next        int64 // next offset to read
	appendTime  int64 // largest append time so far; calendar.Never before the first
	leaderEpoch int32 // of the last record read; −1 before the first
	end         int64 // bounded runs: last stable offset at the start; otherwise calendar.Forever
	talliedTo   int64 // records below this offset are in the tallies of a valid CLOSE
	idleUntil   int64 // watermark set by the idle rule; calendar.Never if the rule does not apply
	// when the last record that ended a silence was read, by this machine's clock; calendar.Never:
	// before this session
	silentSince  int64
	silenceEnded bool // a record that ended a silence was read since the last applyIdleRule
	atEnd        bool // the last fetch read the partition to its end
	lag          lag
	outcomes     watch.Outcomes // outcomes to report to Losses
	aheadOffsets []int64        // offsets of records with timestamps ahead of the clock, ascending
	replayed     map[int64]bool // the aheadOffsets below talliedTo, from CLOSEs
	// The fields below are from the last fetch, for messages about stalls.
	fetched          bool
	high, lastStable int64
	fetchedAt        int64 // when the fetch was sent, in Unix milliseconds
}

// readToEnd reports whether a bounded run has read the partition to its end.
func (p *partition) readToEnd() bool { return p.next >= p.end }

// watermark returns a time: all further events of the partition that are earlier are late.
func (p *partition) watermark(t schemas.MetricSpec) int64 {
	if p.readToEnd() {
		return calendar.Forever
	}
	return max(p.idleUntil, minus(p.appendTime, t.Slack+t.Lateness))
}

// minus returns time − d, and plus returns time + d, for d ≥ 0, without overflow. A producer may
// write any int64 as a record's time, and an overflow would close every window.
func minus(time, d int64) int64 {
	if time < calendar.Never+d {
		return calendar.Never
	}
	return time - d
}

func plus(time, d int64) int64 {
	if time > calendar.Forever-d {
		return calendar.Forever
	}
	return time + d
}

// timeRules holds the time rules of a generation, in milliseconds.
type timeRules struct {
	trustProducer bool
	acceptFuture  bool
	lateness      int64
	skew          int64
	slack         int64
}

// stampAhead reports whether a producer's timestamp is ahead of this machine's clock. For a record
// below talliedTo, it returns what it returned when the record was first read.
func (p *partition) stampAhead(r *kafkalog.Record, c *timeRules, now int64) bool {
	if !c.trustProducer || c.acceptFuture {
		return false
	}
	if r.Offset < p.talliedTo {
		return p.replayed[r.Offset]
	}
	if r.Timestamp <= plus(now, c.skew) {
		return false
	}
	p.aheadOffsets = append(p.aheadOffsets, r.Offset)
	return true
}

// advance applies the timestamp of a record read at now to the partition's append time. The record
// ends a silence unless it was already read in an earlier session or is before the partition's
// watermark: a device with a slow clock must not delay the windows of others.
func (p *partition) advance(r *kafkalog.Record, c *timeRules, now int64) {
	if r.Offset >= p.talliedTo && r.Timestamp >= minus(p.appendTime, c.slack+c.lateness) {
		p.silentSince, p.silenceEnded = now, true
	}
	p.appendTime = max(p.appendTime, r.Timestamp)
}

// cut returns the partition's cut for a CLOSE. restart is the mark at which a later run must start
// reading to find every contribution to later turns; nil means the cut itself.
func (p *partition) cut(restart *packing.Mark) schemas.Cut {
	c := schemas.Cut{
		Partition: p.id, Cut: p.next, Restart: p.next, AppendTime: p.appendTime,
		LeaderEpoch: p.leaderEpoch, Idle: p.idleUntil != calendar.Never,
	}
	if p.lag.lasting && !p.lag.expired {
		c.Lag = p.lag.millis
	}
	if restart != nil {
		c.Restart, c.AppendTime = restart.Offset, restart.AppendTime
	}
	i, _ := slices.BinarySearch(p.aheadOffsets, min(c.Restart, p.talliedTo))
	c.Ahead = slices.Clone(p.aheadOffsets[i:])
	return c
}
