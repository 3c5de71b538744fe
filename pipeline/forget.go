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

// Forgotten is the result of Forget, for the trusted side only. It does not identify the user.
type Forgotten struct {
	Turn uint64 `json:"turn"` // the last settled turn; later turns do not count the user
	// Again is set if the user had been forgotten before.
	Again bool `json:"again"`
	// Accounts is the number of removed accounts, one for each budget period on the ledger.
	// Tombstones is the number of ledger records that tombstones replace.
	Accounts   int         `json:"accounts_removed"`
	Tombstones int         `json:"ledger_tombstones"`
	Ledger     Compaction  `json:"ledger"`
	Topics     []Remaining `json:"topics"` // events and dead letters, from which the operator must delete
}

// Compaction contains the settings that determine when Kafka drops replaced records.
type Compaction struct {
	Topic           string `json:"topic"`
	Segment         string `json:"segment_ms"`
	MaxLag          string `json:"max_compaction_lag_ms"`
	DeleteRetention string `json:"delete_retention_ms"`
}

// Remaining describes the user's records on a topic from which Tollgate itself never deletes.
type Remaining struct {
	Topic   string `json:"topic"`
	Compact bool   `json:"compact"` // the topic is compacted, so a tombstone with a record's key removes the record
	// Before is the offset below which all records must be deleted, by partition.
	Before map[int32]int64 `json:"delete_before"`
	// Unread is set if a run has not yet read some of the user's records. They will not count, but
	// Forget must be repeated after a run has read them.
	Unread bool `json:"unread"`
}

// Found reports whether the topic contains a record of the user.
func (r Remaining) Found() bool { return len(r.Before) > 0 || r.Unread }

// Forget removes a user from the ledger of a drained deployment: the user's accounts, and the
// user's events in open windows. It replaces them with a mark, so every later run ignores the
// user's events, and the user's budget cannot be spent a second time. Nothing changes for other
// users. Forget also lists the user's records on the events and dead-letter topics. An interrupted
// Forget can be repeated: a run in between finds either the user or the mark. Like a new run,
// Forget supersedes an active run.
//
// Errors: ErrNotInitialised, ErrHeaderMismatch unless d is in force, ErrInterruptedTurn,
// ErrStopped, ErrLogFault, deployment.ErrSuperseded if a run or a change has superseded Forget, or
// an error of schemas.ValidateUser or of the broker.
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
	underWay, err := checkConsistent(ctx, changes.InForce(d, c.Old), client, control, o.Logger)
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
	mentionsUser := func(r *kafkalog.Record) bool {
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
		records, err := remaining(ctx, client, topic, needed, mentionsUser)
		if err != nil {
			return out, fmt.Errorf("the user is forgotten, but looking for the user's records failed: %w", err)
		}
		out.Topics = append(out.Topics, records)
	}
	return out, nil
}

// remaining describes the records on a topic for which mentionsUser returns true. needed is the
// first offset that a run still needs, by partition; nil if no run reads the topic.
func remaining(ctx context.Context, client *kafkalog.Client, topic string, needed map[int32]int64,
	mentionsUser func(*kafkalog.Record) bool) (Remaining, error) {
	records := Remaining{Topic: topic, Before: map[int32]int64{}}
	settings, err := client.TopicConfig(ctx, topic)
	if err != nil {
		return records, err
	}
	records.Compact = strings.Contains(settings[topicrules.CleanupPolicy], "compact")
	fix := "correct the configuration"
	return records, readTopic(ctx, client, topic, fix, time.Time{}, func(r kafkalog.Record) error {
		switch {
		case !mentionsUser(&r):
		case needed != nil && r.Offset >= needed[r.Partition]:
			records.Unread = true
		default:
			records.Before[r.Partition] = r.Offset + 1
		}
		return nil
	})
}
