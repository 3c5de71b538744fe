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
	leaderEpoch int32 // leader epoch of the last record read; −1 before the first
	end         int64 // bounded runs: last stable offset at the start; otherwise calendar.Forever
	talliedTo   int64 // records below it are in the tallies of a CLOSE that counts
	idleUntil   int64 // watermark set by the idle rule; calendar.Never if the rule does not apply
	// when the last record that ended a silence was read, by this machine's clock; calendar.Never:
	// before this session
	arrived  int64
	news     bool // such a record was read since the last applyIdleRule
	atEnd    bool // the last fetch has read the partition to its end
	lag      lag
	read     watch.Outcomes // outcomes to be reported to Losses
	ahead    []int64        // offsets of records with stamps ahead of the clock, ascending
	replayed map[int64]bool // the part of ahead below talliedTo, from CLOSEs
	// The state as of the last fetch, for messages about stalls.
	fetched          bool
	high, lastStable int64
	asked            int64 // sending time of that fetch, Unix milliseconds
}

// readToEnd reports whether a bounded run has read the partition to its end.
func (p *partition) readToEnd() bool { return p.next >= p.end }

// watermark returns an event time before which all further events of the partition are late.
func (p *partition) watermark(t schemas.MetricSpec) int64 {
	if p.readToEnd() {
		return calendar.Forever
	}
	return max(p.idleUntil, minus(p.appendTime, t.Slack+t.Lateness))
}

// minus returns time − d, and plus returns time + d, for d ≥ 0, without overflow: a producer may
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

// clock holds the time rules of a generation, in milliseconds.
type clock struct {
	trustProducer bool
	acceptFuture  bool
	lateness      int64
	skew          int64
	slack         int64
}

// stampAhead reports whether a producer's timestamp is ahead of this machine's clock. A record
// below talliedTo keeps its outcome from when it was first read.
func (p *partition) stampAhead(r *kafkalog.Record, c *clock, now int64) bool {
	if !c.trustProducer || c.acceptFuture {
		return false
	}
	if r.Offset < p.talliedTo {
		return p.replayed[r.Offset]
	}
	if r.Timestamp <= plus(now, c.skew) {
		return false
	}
	p.ahead = append(p.ahead, r.Offset)
	return true
}

// advance applies the timestamp of a record read at now to the partition's append time. A record
// before the partition's watermark does not end a silence, so that a device with a slow clock
// cannot delay the windows of others; nor does a record that was already read in an earlier
// session.
func (p *partition) advance(r *kafkalog.Record, c *clock, now int64) {
	if r.Offset >= p.talliedTo && r.Timestamp >= minus(p.appendTime, c.slack+c.lateness) {
		p.arrived, p.news = now, true
	}
	p.appendTime = max(p.appendTime, r.Timestamp)
}

// cut returns the partition's cut for a CLOSE. restart is the mark where a later run must start
// reading to find every contribution to later turns; nil: the cut itself.
func (p *partition) cut(restart *packing.Mark) schemas.Cut {
	c := schemas.Cut{
		Partition: p.id, Cut: p.next, Restart: p.next, AppendTime: p.appendTime,
		LeaderEpoch: p.leaderEpoch, Idle: p.idleUntil != calendar.Never,
	}
	if p.lag.lasting && !p.lag.over {
		c.Lag = p.lag.by
	}
	if restart != nil {
		c.Restart, c.AppendTime = restart.Offset, restart.AppendTime
	}
	i, _ := slices.BinarySearch(p.ahead, min(c.Restart, p.talliedTo))
	c.Ahead = slices.Clone(p.ahead[i:])
	return c
}
