package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
)

// ChangeOptions configure Change.
type ChangeOptions struct {
	// DryRun computes the result without writing anything or disturbing a run.
	DryRun bool
	// By and Why are the author of the change and the reason for it. ReadPromise reports them.
	By, Why string
	// Now gives up the windows that are open after the last settled turn. They are never released,
	// and no user is charged for them. Without Now, Change fails while any window is open.
	Now bool
	// Logger receives warnings about foreign records on the deployment's topics; nil: discarded.
	Logger *slog.Logger
	// MakeTopics creates the missing topics of the configuration; nil creates none. Change calls it
	// after all checks except the checks of the topics themselves.
	MakeTopics func(context.Context) error
}

// ChangeResult describes a change, or a dry run of one.
type ChangeResult struct {
	// Differences are the settings that differ from the configuration in force; those that no
	// change can make come first. If there are none, the configuration is already in force.
	Differences []Difference `json:"changes"`
	// Before and After describe the accuracy of counts and the share of typical users' events that
	// is counted, under the generation in force and the configuration. Empty if nothing differs.
	Before     []deployment.Figures `json:"-"`
	After      []deployment.Figures `json:"-"`
	Generation uint32               `json:"generation,omitempty"` // number of the new generation; 1 is the HEADER's
	FromTurn   uint64               `json:"from_turn,omitempty"`  // the first turn of the generation
	From       time.Time            `json:"from,omitzero"`        // start of that turn, UTC
	// UnderWay is the unsettled turn that has decisions on the ledger; 0: none. A run under the
	// generation in force must finish it before the change.
	UnderWay uint64 `json:"under_way_turn,omitempty"`
	// GivenUp are the metrics whose open windows the change gives up. AllEnd is the first time at
	// or after From at which no window is open. It is zero if there is no such time.
	GivenUp []string  `json:"given_up,omitempty"`
	AllEnd  time.Time `json:"all_windows_end,omitzero"`
	// RetiredKey is the id of the noise key that no turn needs after the change, or "".
	// RetiredTopics are the topics that no run reads after the change.
	RetiredKey    string   `json:"retired_key,omitempty"`
	RetiredTopics []string `json:"retired_topics,omitempty"`
}

// Change puts the configuration of d in force as a new generation on control, which starts with the
// turn after the last settled turn. Like a new run, Change supersedes an active run. The deployment
// must be drained, so no turn may be unfinished. Accounts continue, unless the user-hash key
// changes, which is possible only at the start of a budget period. No window crosses a change:
// Change fails while windows are open, unless ChangeOptions.Now gives them up.
//
// Change first writes a snapshot of every shard, which includes the charges of all settled turns.
// After that, no run decides an earlier turn or draws its noise again, so a replaced noise key may
// be destroyed. Change checks everything before it writes, so a failed check does not disturb a
// run. An interrupted change has no effect and can be repeated.
//
// Errors: ErrHeaderMismatch if a difference is never allowed, ErrInterruptedTurn, ErrOpenWindows,
// ErrOpenPeriod, ErrStopped, ErrNotInitialised, ErrTopicSettings, ErrLogFault,
// deployment.ErrSuperseded if a run or another change has superseded this change, *spend.StopError,
// or an error of the broker or, for counts in Avro, of the registry. Even with an error, the result
// lists the differences found so far.
func Change(ctx context.Context, d *deployment.Deployment, o ChangeOptions) (ChangeResult, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	client, control, _, err := openDeployment(ctx, d, o.Logger)
	if err != nil {
		return ChangeResult{}, err
	}
	defer client.Close()
	control.At = crashpoint.From(ctx).At
	c := admin.NewChange(d, client, control)
	c.Now = o.Now
	want := changes.Header(d)
	want.By, want.Why = o.By, o.Why
	if want.Counts, err = admin.LookUpCounts(ctx, d); err != nil {
		return ChangeResult{}, err
	}
	result, err := compare(d, c.Old, &want)
	if err != nil {
		return result, err
	}
	if len(result.Differences) == 0 {
		return result, recreateTopics(ctx, d, client, o)
	}
	if err := c.ReadState(); err != nil {
		return result, err
	}
	if result.UnderWay, err = checkConsistent(ctx, changes.InForce(d, c.Old), client, control, o.Logger); err != nil {
		return result, err
	}
	if o.DryRun {
		if err := checkTopicsFor(ctx, d, c); err != nil {
			return result, err
		}
		c.MakeNext(&want)
		return describe(c, result), c.CheckUserHash(ctx)
	}
	if err := rehearseChange(ctx, d, c, &want, o); err != nil {
		return result, err
	}
	// If the change is interrupted after this call, the next attempt finds the registered schema.
	if want.Counts, err = admin.RegisterCounts(ctx, d); err != nil {
		return result, err
	}
	if err := applyChange(ctx, c, &want); err != nil {
		return result, err
	}
	return describe(c, result), nil
}

// checkConsistent returns the error that a run would return if the topics of the deployment d,
// which is in force, do not belong together. Otherwise it returns the turn that is under way, or 0.
// If control has another user-hash key, it skips the records of the ledger, which it cannot read.
func checkConsistent(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	log *slog.Logger) (underWay uint64, err error) {
	key := schemas.KeyFingerprintOf("user-hash", d.Config.Keys.UserHash.Reveal())
	if err := countslog.CheckIntact(ctx, d, client, control); err != nil || control.Header.UserHash != key {
		return 0, err
	}
	return reading.Compare(ctx, d, client, control, log)
}

// compare returns the differences between old, the generation in force, and want. It returns an
// error if no change can make one of them.
func compare(d *deployment.Deployment, old, want *schemas.Header) (result ChangeResult, err error) {
	result.Differences = append(changes.Differences(old, want), changes.SchemaDifferences(old, want)...)
	if len(result.Differences) == 0 {
		return result, nil
	}
	if first := result.Differences[0]; first.Never != "" {
		return result, fmt.Errorf("changing generation %d on topic %s: %s cannot be changed%s: %s: %w", old.Generation,
			d.Config.Outputs.Control, first.What, first.Detail(), first.Never, deployment.ErrHeaderMismatch)
	}
	if result.Before, err = deployment.FiguresOf(old.Budget, old.Metrics); err != nil {
		return result, fmt.Errorf("compiling generation %d on topic %s: %w", old.Generation, d.Config.Outputs.Control,
			err)
	}
	if result.After, err = deployment.FiguresOf(want.Budget, want.Metrics); err != nil {
		return result, fmt.Errorf("compiling the configuration: %w", err)
	}
	return result, nil
}

// recreateTopics recreates lost topics of the generation in force if no run needs their records. It
// runs the topic checks afterwards.
func recreateTopics(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o ChangeOptions) error {
	if o.DryRun || o.MakeTopics == nil {
		return nil
	}
	for _, topic := range []string{d.Config.Outputs.Ledger, d.Config.Outputs.Counts} {
		if _, err := client.Partitions(ctx, topic); errors.Is(err, kafkalog.ErrUnknownTopic) {
			return CheckTopics(ctx, d, CheckOptions{}) // its error explains why an empty topic is no substitute
		}
	}
	if err := o.MakeTopics(ctx); err != nil {
		return err
	}
	return CheckTopics(ctx, d, CheckOptions{})
}

// checkTopicsFor returns an error if the new generation cannot continue with the configured topics.
func checkTopicsFor(ctx context.Context, d *deployment.Deployment, c *admin.Change) error {
	if err := CheckTopics(ctx, d, CheckOptions{}); err != nil {
		return err
	}
	return c.CheckUnused(ctx)
}

// rehearseChange tries out the whole change, to find what prevents it, without disturbing a run.
func rehearseChange(ctx context.Context, d *deployment.Deployment, c *admin.Change, want *schemas.Header,
	o ChangeOptions) error {
	c.MakeNext(want)
	if err := c.CheckSize(); err != nil {
		return err
	}
	snapshots, err := c.WindUp(ctx)
	if err != nil {
		return err
	}
	if o.MakeTopics != nil {
		if err := o.MakeTopics(ctx); err != nil {
			return err
		}
	}
	if err := checkTopicsFor(ctx, d, c); err != nil {
		return err
	}
	if err := c.WriteSnapshots(ctx, snapshots); err != nil {
		return err
	}
	return c.CheckUnmoved(ctx)
}

// applyChange supersedes an active run and puts the generation in want in force.
func applyChange(ctx context.Context, c *admin.Change, want *schemas.Header) error {
	if err := c.TakeEpoch(ctx); err != nil {
		return err
	}
	c.MakeNext(want)
	snapshots, err := c.WindUp(ctx)
	if err != nil {
		return err
	}
	if err := c.WriteSnapshots(ctx, snapshots); err != nil {
		return err
	}
	return c.WriteGeneration(ctx)
}

// describe adds the new generation to a result, and the windows, key and topics that it retires.
func describe(c *admin.Change, r ChangeResult) ChangeResult {
	old, next := c.Old, &c.Next
	r.Generation, r.FromTurn, r.From = next.Generation, next.FromTurn, time.UnixMilli(next.SliceStart).UTC()
	r.GivenUp, r.AllEnd = c.OpenWindows()
	if key := changes.NewestKey(old); key.ID != changes.NewestKey(next).ID {
		r.RetiredKey = key.ID
	}
	if old.Topics.Ledger != next.Topics.Ledger {
		r.RetiredTopics = append(r.RetiredTopics, old.Topics.Ledger)
	}
	if old.Topics.Counts != next.Topics.Counts {
		r.RetiredTopics = append(r.RetiredTopics, old.Topics.Counts)
	}
	return r
}
