package pipeline

import (
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// RunState is the state of a run. Only marked fields are exact numbers of records. Times are UTC.
type RunState struct {
	Run, Epoch int64 // see Status
	// Epochs is the number of epochs of this run. It is greater than 1 if reading has restarted.
	Epochs     int64
	Generation uint32 // in force

	Closed, Settled     uint64        // see Status
	ClosedTo, SettledTo time.Time     // ends of these turns
	OpenFor             time.Duration // how long the open turn has been open
	Broker              bool          // whether every broker in use can be reached
	// NotReady is the reason why the run is not ready: no broker responds, reading has stalled, or
	// counts are overdue. It is "" if the run is ready. A stall is detected within half a minute.
	NotReady   string
	Partitions []PartitionState

	// Losses are the levels of lost records in the last minute or hour, by reason: late, future,
	// before_start, overtaken, dead_lettered and beyond_allowance. For the trusted side only.
	Losses map[string]LossLevel
	// DeadLetters is the level of dead letters in the last hour. It also covers numbers that are
	// too small for Losses. For the trusted side only.
	DeadLetters DeadLetterLevel
	// BadValues is set if more than 2% of the values of the last hour cannot be read.
	BadValues bool
	// Totals are exact numbers of records: those that this process was the first to read or, with
	// Workers, those of the turns settled during this run. For the trusted side only.
	Totals Totals
}

// LossLevel is the share of records that were lost for one reason. 0: none; 1: some (at least one
// in a hundred, and at least ten records); 2: more than half.
type LossLevel int

// DeadLetterLevel is the share of dead letters among records: "none" (fewer than ten), "few" (fewer
// than one in a hundred), "some", or "most" (more than half).
type DeadLetterLevel string

// Totals are exact numbers of records by outcome, for the trusted side only.
type Totals struct {
	Read        uint64            // includes no dead letters
	DeadLetters map[string]uint64 // by class
	// Lost is the number of lost records by reason; beyond_allowance counts them per metric window.
	Lost map[string]uint64
}

// PartitionState is a run's progress on one partition of the events topic.
type PartitionState struct {
	ID int32
	// Lag is the time since the append time of the last record read. At the end of the partition it
	// is 0. While no broker responds, Lag is the time since the last response. LagKnown is false if
	// the topic does not have append times.
	Lag      time.Duration
	LagKnown bool
	Records  int64 // unread records, exactly: for the trusted side only
}

// responseLimit is how long a request may wait before its broker counts as unreachable.
const responseLimit = 10 * time.Second

// allRespond reports whether every broker in use can be reached and responds in time.
func allRespond(away []kafkalog.Away, troubles []kafkalog.Trouble, now time.Time) bool {
	return len(watch.StillUsed(away, now)) == 0 && !slices.ContainsFunc(troubles, func(t kafkalog.Trouble) bool {
		return now.Sub(t.Since) >= responseLimit
	})
}

// reportState returns a function that calls OnState with the current state.
func (r *run) reportState(opts RunOptions, client *kafkalog.Client) func(now time.Time) {
	ready := watch.NewReadiness(watch.RulesOf(r.dep, opts.Bounded))
	s, epochs := RunState{}, int64(0)
	look := func(v *controllog.View) {
		s.Run, s.Epoch, s.Closed, s.Settled = v.Run, v.Epoch, v.Closed, v.Settled
		s.Generation, epochs = v.Header.Generation, v.Epochs
	}
	r.control.WithView(look)
	initial := epochs
	return func(now time.Time) {
		r.control.TryView(look)
		s.Epochs, s.OpenFor, s.Partitions = epochs-initial, 0, nil
		s.ClosedTo, s.SettledTo = time.UnixMilli(r.turns.End(s.Closed)).UTC(),
			time.UnixMilli(r.turns.End(s.Settled)).UTC()
		seen, observed := r.stalls.Observed()
		troubles := client.Troubles()
		s.NotReady = ready.Check(now, seen, observed, s.Settled, troubles)
		s.Broker = allRespond(client.Away(), troubles, now)
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
