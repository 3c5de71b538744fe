package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ForgetOptions are the author of a removal, the reason for it, and a logger for warnings.
type ForgetOptions struct {
	By, Why string
	Logger  *slog.Logger // nil: discarded
}

// Forgotten is the result of Forget. It is for the trusted side, but does not name the user.
type Forgotten struct {
	Turn uint64 `json:"turn"` // the last settled turn; after it, the user no longer counts
	// Again is set if the user was already forgotten.
	Again bool `json:"again"`
	// Accounts is the number of removed accounts, one for each budget period on the ledger.
	// Tombstones is the number of ledger records that tombstones replace.
	Accounts   int         `json:"accounts_removed"`
	Tombstones int         `json:"ledger_tombstones"`
	Ledger     Compaction  `json:"ledger"`
	Topics     []Remaining `json:"topics"` // events and dead letters, which the operator has to delete
}

// Compaction contains the settings that determine when Kafka drops replaced records.
type Compaction struct {
	Topic           string `json:"topic"`
	Segment         string `json:"segment_ms"`
	MaxLag          string `json:"max_compaction_lag_ms"`
	DeleteRetention string `json:"delete_retention_ms"`
}

// Remaining describes the user's records on a topic from which Tollgate does not delete.
type Remaining struct {
	Topic   string `json:"topic"`
	Compact bool   `json:"compact"` // the topic is compacted, so tombstones under their keys remove records
	// Before is, by partition, the offset below which records must be deleted.
	Before map[int32]int64 `json:"delete_before"`
	// Unread is set if a run has yet to read some of the user's records. They do not count, but
	// repeat Forget once a run has read them.
	Unread bool `json:"unread"`
}

// Found reports whether the topic contains a record of the user.
func (r Remaining) Found() bool { return len(r.Before) > 0 || r.Unread }

// Forget removes a user from the ledger of a drained deployment: the accounts, and the events of
// open windows. A mark replaces them, and every later run ignores the user's events, so that the
// user's budget cannot be spent a second time. Nothing changes for other users. Forget then lists
// the user's records on the events and dead-letter topics. An interrupted Forget can be repeated; a
// run in between finds either the user or the mark. Like a new run, Forget supersedes an active
// run.
//
// Errors: ErrNotInitialised, ErrHeaderMismatch unless d is in force, ErrInterruptedTurn,
// ErrStopped, ErrLogFault, deployment.ErrSuperseded if a run or a change has superseded it, or an
// error of schemas.ValidateUser or of the broker.
func Forget(ctx context.Context, d *deployment.Deployment, user []byte, o ForgetOptions) (*Forgotten, error) {
	if err := schemas.ValidateUser(user); err != nil {
		return nil, fmt.Errorf("forgetting a user: %w", err)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	client, control, _, err := openDeployment(ctx, d, o.Logger)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	control.At = crashpoint.From(ctx).At
	c := admin.NewChange(d, client, control)
	if err := c.ReadState(); err != nil {
		return nil, err
	}
	underWay, err := checkSameMoment(ctx, changes.InForce(d, c.Old), client, control, o.Logger)
	if err == nil && underWay > 0 {
		err = admin.Interrupted(underWay - 1)
	}
	if err != nil {
		return nil, fmt.Errorf("forgetting a user: %w", err)
	}
	removed, turn, err := c.Forget(ctx, user, o.By, o.Why)
	if err != nil {
		return nil, fmt.Errorf("forgetting a user: %w", err)
	}
	out := &Forgotten{Turn: turn, Again: removed.Again, Accounts: removed.Accounts, Tombstones: removed.Records}
	settings, err := client.TopicConfig(ctx, c.Old.Topics.Ledger)
	if err != nil {
		return out, fmt.Errorf("the user is forgotten, but reading the settings of the ledger failed: %w", err)
	}
	out.Ledger = Compaction{c.Old.Topics.Ledger, settings["segment.ms"], settings["max.compaction.lag.ms"],
		settings["delete.retention.ms"]}
	decoder, err := reading.NewDecoder(ctx, d, o.Logger)
	if err != nil {
		return out, fmt.Errorf("the user is forgotten, but looking for the user's events failed: %w", err)
	}
	var e event.Event
	holds := func(r *kafkalog.Record) bool {
		if decoder.Decode(r.Value, &e) == nil && !bytes.Contains(r.Key, user) {
			return bytes.Equal(e.User, user)
		}
		return bytes.Contains(r.Value, user) || bytes.Contains(r.Key, user)
	}
	for _, topic := range []string{d.Config.Events.Topic, c.Old.Topics.DeadLetter} {
		needed := c.Restarts()
		if topic == c.Old.Topics.DeadLetter {
			needed = nil
		}
		left, err := remaining(ctx, client, topic, needed, holds)
		if err != nil {
			return out, fmt.Errorf("the user is forgotten, but looking for the user's records failed: %w", err)
		}
		out.Topics = append(out.Topics, left)
	}
	return out, nil
}

// remaining describes a user's records on a topic, for which holds returns true. needed is, by
// partition, the first offset that a run still needs; nil if no run reads the topic.
func remaining(ctx context.Context, client *kafkalog.Client, topic string, needed map[int32]int64,
	holds func(*kafkalog.Record) bool) (Remaining, error) {
	left := Remaining{Topic: topic, Before: map[int32]int64{}}
	settings, err := client.TopicConfig(ctx, topic)
	if err != nil {
		return left, err
	}
	left.Compact = strings.Contains(settings[topicrules.CleanupPolicy], "compact")
	fix := "correct the configuration"
	return left, readTopic(ctx, client, topic, fix, time.Time{}, func(r kafkalog.Record) error {
		switch {
		case !holds(&r):
		case needed != nil && r.Offset >= needed[r.Partition]:
			left.Unread = true
		default:
			left.Before[r.Partition] = r.Offset + 1
		}
		return nil
	})
}
