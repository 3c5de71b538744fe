package pipeline

import (
	"context"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Status is the state of a deployment according to its control topic. It reveals nothing about
// events, users, keys or counts, except the level of dead letters. Times are UTC. The times of
// records are from the broker's clock.
type Status struct {
	Deployment  string `json:"deployment"`
	Incarnation string `json:"incarnation"` // id of the HEADER, in hexadecimal
	// ControlFormat is the version of the control log's format, the only one this program reads.
	ControlFormat int `json:"control_format"`
	// BeganOnCluster is the id of the cluster in the record kept with the keys, if that is another
	// cluster. This happens after a failover or a restore.
	BeganOnCluster string  `json:"began_on_cluster,omitempty"`
	Generation     uint32  `json:"generation"` // in force
	Epsilon        float64 `json:"epsilon"`    // of that generation
	Delta          float64 `json:"delta"`
	// PeriodSeconds is the length of the budget period; 0: one budget for life.
	PeriodSeconds float64   `json:"period_seconds,omitempty"`
	Start         time.Time `json:"start"` // start of the deployment

	// Run is the number of the run that opened the last epoch, and Epoch the number of that epoch.
	// Both are offsets on control; −1 if no run has begun. A run without Ended may have died.
	Run   int64 `json:"run"`
	Epoch int64 `json:"epoch"`
	// Ended is set if this run ended normally: it was drained, or reached its configured end.
	Ended bool `json:"run_ended"`
	// Closed is the last turn with a CLOSE. Settled is the last turn with a SETTLED: its counts are
	// published and complete. Both are 0 if there is no such turn. SettledTo is the end of turn
	// Settled. SettledAt is the time of its SETTLED.
	Closed    uint64     `json:"closed_turn"`
	Settled   uint64     `json:"settled_turn"`
	SettledTo time.Time  `json:"settled_to"`
	SettledAt *time.Time `json:"settled_at,omitempty"`

	// Due is when the clock closes the next turn on silent partitions. With producer times, which
	// may be old and advance at any pace, Due is no earlier than one length of the turn after the
	// last SETTLED, or the HEADER, was written. Lag is the time since Due; 0 before Due.
	Due        time.Time     `json:"due"`
	Lag        time.Duration `json:"-"`
	LagSeconds float64       `json:"lag_seconds"`

	// DeadLetters is the level of dead letters in the last DeadLetterTurns turns. Trusted side.
	DeadLetters     DeadLetterLevel `json:"dead_letters"`
	DeadLetterTurns uint64          `json:"dead_letter_turns"`

	Stop *StopStatus `json:"stop,omitempty"` // nil: there is no STOP
}

// StopStatus describes a STOP that no Recover follows. Reason is for the trusted side only.
type StopStatus struct {
	Turn   uint64    `json:"turn"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Err returns ErrStopped with turn and reason, or nil if the deployment has not stopped itself.
func (s *Status) Err() error {
	if s.Stop == nil {
		return nil
	}
	return controllog.Stopped(&schemas.Stop{Turn: s.Stop.Turn, Reason: s.Stop.Reason})
}

// ReadStatus returns the state of a deployment; now is the current time. It only reads control, and
// does not need keys. Errors: ErrNotInitialised, ErrLogFault, or the broker's error.
func ReadStatus(ctx context.Context, d *deployment.Deployment, now time.Time) (*Status, error) {
	client, control, elsewhere, err := openDeployment(ctx, d, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	h := control.Header
	turns := calendar.New(h, d.Config.Privacy.Period)
	s := &Status{
		Deployment: h.Deployment, Incarnation: hex.EncodeToString(h.Incarnation[:]),
		ControlFormat: schemas.FormatVersions()[0].Version, Generation: h.Generation,
		Epsilon: h.Budget.Epsilon, Delta: h.Budget.Delta, PeriodSeconds: d.Config.Privacy.Period.Seconds(),
		Start: time.UnixMilli(h.StartMillis).UTC(),
	}
	if elsewhere != nil {
		s.BeganOnCluster = elsewhere.Cluster
	}
	settledAt, stopAt := int64(-1), int64(-1)
	control.WithView(func(v *controllog.View) {
		s.Run, s.Epoch, s.Ended, s.Closed, s.Settled = v.Run, v.Epoch, v.Ended != nil, v.Closed, v.Settled
		if offset, known := v.SettledAt[v.Settled]; known {
			settledAt = offset
		}
		s.DeadLetters, s.DeadLetterTurns = deadLettersOf(v)
		if v.Stop != nil {
			s.Stop, stopAt = &StopStatus{Turn: v.Stop.Turn, Reason: v.Stop.Reason}, v.StopAt
		}
	})
	s.SettledTo = time.UnixMilli(turns.End(s.Settled)).UTC()
	rules := watch.RulesOf(d, false)
	_, s.Due = rules.Closes(turns.End(s.Settled + 1))
	written, err := control.WrittenAt(ctx, max(settledAt, control.HeaderAt))
	if err != nil {
		return nil, err
	}
	if paced := written.Add(d.Config.Outputs.PublishEvery + time.Duration(turns.End(s.Settled+1)-
		turns.End(s.Settled))*time.Millisecond); d.Config.Time.Trust == deployment.TrustProducer && paced.After(s.Due) {
		s.Due = paced
	}
	s.Lag = max(0, now.Sub(s.Due))
	s.LagSeconds = s.Lag.Seconds()
	if settledAt >= 0 {
		written, err := control.WrittenAt(ctx, settledAt)
		if err != nil {
			return nil, err
		}
		s.SettledAt = &written
	}
	if stopAt >= 0 {
		if s.Stop.At, err = control.WrittenAt(ctx, stopAt); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// deadLettersOf returns the level of dead letters in the turns whose CLOSEs are still in the view,
// and the number of these turns.
func deadLettersOf(v *controllog.View) (level DeadLetterLevel, turns uint64) {
	var sum schemas.ReadTallies
	for _, c := range v.Closes {
		turns++
		sum.Add(c.Tallies)
	}
	var dead uint64
	for _, n := range sum.DeadLettered {
		dead += n
	}
	return DeadLetterLevel(watch.DeadLetterLevel(dead, sum.Read-sum.Skipped)), turns
}
