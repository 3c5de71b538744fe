package reading

import (
	"slices"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

// partition is what READ knows of one partition of the events topic.
type partition struct {
	id          int32
	next        int64 // the next offset to read
	appendTime  int64 // A: the largest append time so far; never before the first
	leaderEpoch int32
	end         int64 // bounded runs: the last stable offset at the start; else forever
	tallied     int64 // records below are in the tallies of a CLOSE that counts
	idleUntil   int64 // the idle rule's watermark; never when it does not hold
	ahead       []int64
	replayed    map[int64]bool // offsets below tallied that the clock judged ahead
	// As of the last fetch, for what is told of stalls.
	fetched          bool
	high, lastStable int64
}

// done says that a bounded run has read the partition to its end.
func (p *partition) done() bool { return p.next >= p.end }

// watermark is the event time behind which no record on time can come.
func (p *partition) watermark(t schemas.MetricSpec) int64 {
	if p.done() {
		return calendar.Forever
	}
	return max(p.idleUntil, minus(p.appendTime, t.Slack+t.Lateness))
}

// minus is time − d, and plus is time + d, for d ≥ 0: a producer may write any
// int64 as a record's time, and one that wraps around would close every window.
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

// clock is the part of the time rules that needs a clock: producer times
// ahead of the reader's own.
type clock struct {
	trustProducer bool
	noFuture      bool
	lateness      int64
	skew          int64
	slack         int64
}

// stampAhead says whether a producer's stamp is ahead of the reader's clock. A
// record below tallied was judged before, and keeps its verdict.
func (p *partition) stampAhead(r *kafkalog.Record, c *clock, now int64) bool {
	if !c.trustProducer || c.noFuture {
		return false
	}
	if r.Offset < p.tallied {
		return p.replayed[r.Offset]
	}
	if r.Timestamp <= plus(now, c.skew) {
		return false
	}
	p.ahead = append(p.ahead, r.Offset)
	return true
}

// cut describes the partition for a CLOSE. restart is where a later run must
// begin to see every contribution to later turns.
func (p *partition) cut(restart *packing.Mark) schemas.Cut {
	c := schemas.Cut{
		Partition: p.id, Cut: p.next, Restart: p.next, AppendTime: p.appendTime,
		LeaderEpoch: p.leaderEpoch, Idle: p.idleUntil != calendar.Never,
	}
	if restart != nil {
		c.Restart, c.AppendTime = restart.Offset, restart.AppendTime
	}
	at, _ := slices.BinarySearch(p.ahead, min(c.Restart, p.tallied))
	c.Ahead = slices.Clone(p.ahead[at:])
	return c
}
