package pipeline

import (
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// RunState is the state of a run: seconds and coarse states, except for fields documented as exact.
// Times are UTC.
type RunState struct {
	Run, Epoch int64 // as in Status
	// Epochs is the number of epochs that this run has taken; more than one means that it has
	// restarted.
	Epochs     int64
	Generation uint32 // in force

	Closed, Settled     uint64    // as in Status
	ClosedTo, SettledTo time.Time // where the windows of these turns end
	OpenFor             time.Duration
	Broker              bool // every broker that was asked could be connected to
	// NotReady is the reason that the run is not ready: no broker responds, reading has stalled, or
	// counts are overdue; "" if it is ready. A stall is detected within half a minute.
	NotReady   string
	Partitions []PartitionState

	// Losses are how many of the records of the last minute or hour are lost, by the reason: late,
	// future, before_start, overtaken, dead_lettered and beyond_allowance. Coarse, for the trusted
	// side.
	Losses map[string]LossLevel
	// DeadLetters is the level of dead letters among the last hour's records, even if they are too
	// few for a level of Losses. Coarse, for the trusted side.
	DeadLetters DeadLetterLevel
	// BadValues is set if more than 2 % of the values of the last hour cannot be read.
	BadValues bool
	// Totals are the exact numbers of records that this process was the first to read, for the
	// trusted side only. If workers read, they cover the turns that were settled meanwhile.
	Totals Totals
}

// LossLevel is how many of the records are lost for a reason: 0 none, 1 some (at least one in a
// hundred, and ten), 2 more than half.
type LossLevel int

// DeadLetterLevel is how many of the records are dead letters: "none" (fewer than ten), "few"
// (fewer than one in a hundred), "some", or "most" (more than half).
type DeadLetterLevel string

// Totals are exact numbers of the records that a process has seen, by their outcome: for the
// trusted side only.
type Totals struct {
	Read        uint64            // records, without dead letters
	DeadLetters map[string]uint64 // by class
	// Lost is the number of records that are not counted, by reason. Records beyond the allowance
	// count once for each window of a metric.
	Lost map[string]uint64
}

// PartitionState is how far a run is on a partition of the events topic.
type PartitionState struct {
	ID int32
	// Lag is the time since the last record read was appended, 0 at the end of the partition; while
	// no broker responds, it is the time since the end was last known. LagKnown is false if the
	// topic does not have append times.
	Lag      time.Duration
	LagKnown bool
	Records  int64 // records not read yet: exact, for the trusted side only
}

// brokerAway is how long a broker may leave a request without a response before it counts as
// unreachable.
const brokerAway = 10 * time.Second

// answering reports whether the client reaches every broker that it asks and gets its responses in
// time.
func answering(away []kafkalog.Away, troubles []kafkalog.Trouble, now time.Time) bool {
	return len(watch.Asked(away, now)) == 0 && !slices.ContainsFunc(troubles, func(t kafkalog.Trouble) bool {
		return now.Sub(t.Since) >= brokerAway
	})
}

// reportState returns a function to be called about once a second, which calls OnState.
func (r *run) reportState(opts RunOptions, client *kafkalog.Client) func(now time.Time) {
	ready := watch.NewReadiness(watch.RulesOf(r.dep, opts.Bounded))
	first := int64(-1)
	return func(now time.Time) {
		var s RunState
		r.control.WithView(func(v *controllog.View) {
			if first < 0 {
				first = v.Epochs
			}
			s.Run, s.Epoch, s.Closed, s.Settled = v.Run, v.Epoch, v.Closed, v.Settled
			s.Epochs = v.Epochs - first
			s.Generation = v.Header.Generation
		})
		s.ClosedTo, s.SettledTo = time.UnixMilli(r.turns.End(s.Closed)).UTC(),
			time.UnixMilli(r.turns.End(s.Settled)).UTC()
		seen, observed := r.stalls.Observed()
		troubles := client.Troubles()
		s.NotReady = ready.Check(now, seen, observed, s.Settled, troubles)
		s.Broker = answering(client.Away(), troubles, now)
		if seen.Open > 0 {
			s.OpenFor = now.Sub(seen.OpenedAt)
		}
		for _, p := range seen.Partitions {
			partition := PartitionState{ID: p.ID, Records: max(0, p.LastStable-p.Next)}
			partition.Lag, partition.LagKnown = p.Lag(now)
			s.Partitions = append(s.Partitions, partition)
		}
		s.Losses = map[string]LossLevel{}
		for reason, level := range r.losses.Levels(now) {
			s.Losses[reason] = LossLevel(level)
		}
		s.DeadLetters, s.Totals = DeadLetterLevel(r.losses.DeadLetters(now)), Totals(r.losses.Totals())
		s.BadValues = r.losses.BadValues(now)
		opts.OnState(s)
	}
}
