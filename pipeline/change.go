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
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
)

// ChangeOptions say how a deployment is changed.
type ChangeOptions struct {
	// DryRun says what would change and writes nothing; a run may go on meanwhile.
	DryRun bool
	// By and Why are the author of the change and the reason for it, for ReadPromise.
	By, Why string
	// Now gives up the windows that are open after the last settled turn: they are never released,
	// and no user is charged for them. Without it, Change refuses while any is open.
	Now bool
	// Logger receives the foreign records on the deployment's topics; default: discards.
	Logger *slog.Logger
	// MakeTopics makes the topics that the configuration names and that do not exist. It is
	// called once nothing but what those topics hold can refuse the change; nil makes none.
	MakeTopics func(context.Context) error
}

// ChangeResult says what a change has done, or would do.
type ChangeResult struct {
	// Differences are the points in which the configuration differs from the one in
	// force, those that can never be changed first: What says the point, Never why it
	// cannot be changed, "" where it can. Empty: the configuration is in force already.
	Differences []Difference
	// Before and After are how exact counts are, and how long a budget lasts, under the
	// generation in force and under the configuration. Empty where nothing differs.
	Before, After []deployment.Figures
	Generation    uint32    // the number of the new generation; that of HEADER is 1
	FromTurn      uint64    // the first turn of the generation
	From          time.Time // where that turn begins, UTC
	// UnderWay is the last turn of a span that has decisions on the ledger and is not settled: a
	// run under the generation in force has to finish it before the change. 0 for none.
	UnderWay uint64
	// GivenUp are the metrics of which windows are open before the change: they are never released.
	GivenUp []string
	// AllEnd is the first time, from From on, at which no window is open. Zero if there is none.
	AllEnd time.Time
	// RetiredKey is the id of a noise key that no turn needs any more, "" where it
	// stays; RetiredTopics are topics that no run reads any more.
	RetiredKey    string
	RetiredTopics []string
}

// Change puts the configuration of d in force from the turn after the last
// settled one on, as a new generation on control. It takes over from a run as
// another run would; the deployment must have been drained, so that no turn is
// under way. Accounts go on. No window reaches over a change: Change refuses while windows are
// open, or with ChangeOptions.Now gives them up. Every metric begins with windows after the change.
//
// Whatever was settled is charged before the change is written, in a snapshot of
// every shard, so that no run ever has to decide or draw anything of an earlier
// turn again: a noise key that was replaced may be destroyed then. A change that
// is interrupted has not happened, and can be made again. One that is refused leaves a run
// that goes on alone: all of it is tried first without writing.
//
// Errors: ErrHeaderMismatch where a difference can never be,
// ErrInterruptedTurn, ErrOpenWindows, ErrStopped, ErrNotInitialised, ErrTopicSettings, ErrLogFault,
// deployment.ErrSuperseded where a run or another change has taken over,
// *spend.StopError, or the broker's error, and for counts in avro the registry. With an
// error the result holds the differences as far as they are known.
func Change(ctx context.Context, d *deployment.Deployment, o ChangeOptions) (ChangeResult, error) {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return ChangeResult{}, err
	}
	defer client.Close()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	control, _, err := openControl(ctx, d, client, o.Logger)
	if err != nil {
		return ChangeResult{}, err
	}
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
		return result, remake(ctx, d, client, o)
	}
	if err := c.ReadState(); err != nil {
		return result, err
	}
	if result.UnderWay, err = sameMoment(ctx, changes.InForce(d, c.Old), client, control, o.Logger); err != nil {
		return result, err
	}
	if o.DryRun {
		if err := topicsFor(ctx, d, c); err != nil {
			return result, err
		}
		c.MakeNext(&want)
		return describe(c, result), nil
	}
	if err := tryChange(ctx, d, c, &want, o); err != nil {
		return result, err
	}
	// What a change that ends here has registered is found by the next one.
	if want.Counts, err = admin.RegisterCounts(ctx, d); err != nil {
		return result, err
	}
	if err := applyChange(ctx, c, &want); err != nil {
		return result, err
	}
	return describe(c, result), nil
}

// sameMoment refuses topics of the deployment in force, d, that a run would refuse because they do
// not belong together, in its words. It returns the last turn that is under way; 0 for none.
func sameMoment(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	log *slog.Logger) (underWay uint64, err error) {
	if err := countslog.CheckIntact(ctx, d, client, control); err != nil {
		return 0, err
	}
	return reading.Compare(ctx, d, client, control, log)
}

// compare says how the generation old and the header want differ, and refuses what can never be.
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

// remake makes topics of the generation in force that were lost, where no run needs what they held.
func remake(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o ChangeOptions) error {
	if o.DryRun || o.MakeTopics == nil {
		return nil
	}
	for _, topic := range []string{d.Config.Outputs.Ledger, d.Config.Outputs.Counts} {
		if _, err := client.Partitions(ctx, topic); errors.Is(err, kafkalog.ErrUnknownTopic) {
			return CheckTopics(ctx, d, CheckOptions{}) // it says why an empty one is of no use
		}
	}
	if err := o.MakeTopics(ctx); err != nil {
		return err
	}
	return CheckTopics(ctx, d, CheckOptions{})
}

// topicsFor refuses topics on which the new generation cannot go on.
func topicsFor(ctx context.Context, d *deployment.Deployment, c *admin.Change) error {
	if err := CheckTopics(ctx, d, CheckOptions{}); err != nil {
		return err
	}
	return c.CheckUnused(ctx)
}

// tryChange goes through the whole change without taking anything from a run that goes on, so that
// whatever can refuse the change refuses it here.
func tryChange(ctx context.Context, d *deployment.Deployment, c *admin.Change, want *schemas.Header,
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
	if err := topicsFor(ctx, d, c); err != nil {
		return err
	}
	if err := c.WriteSnapshots(ctx, snapshots); err != nil {
		return err
	}
	return c.CheckUnmoved(ctx)
}

// applyChange takes over and puts the generation of want in force.
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

// describe adds to a result what the change means for users of the generation before.
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
