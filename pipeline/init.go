package pipeline

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
)

// TopicOptions configure CreateTopics.
type TopicOptions struct {
	EventPartitions int // partitions of the events topic; 0: do not create it
	Replication     int // replicas of every partition; 0: the broker's default
}

// CreateTopics creates the deployment's topics with the settings that a restart needs. It does not
// change topics that exist: it returns an ErrTopicExists for each of them, and creates the others.
func CreateTopics(ctx context.Context, d *deployment.Deployment, o TopicOptions) error {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.CreateTopics(ctx, topicrules.Specs(d, o.EventPartitions, o.Replication)...); err != nil {
		return fmt.Errorf("creating the deployment's topics: %w", err)
	}
	return nil
}

// CheckMissingTopics predicts the errors that CheckTopics would return after CreateTopics. They
// report existing topics with wrong settings, and missing topics that were lost because other
// topics contain later records. It changes nothing.
func CheckMissingTopics(ctx context.Context, d *deployment.Deployment, o TopicOptions) error {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	specs := topicrules.Specs(d, o.EventPartitions, o.Replication)
	return topicrules.Check(ctx, d, client, topicrules.Options{WillCreate: func(topic string) bool {
		return slices.ContainsFunc(specs, func(s kafkalog.TopicSpec) bool { return s.Name == topic })
	}})
}

// InitOptions are the settings that a deployment can never change.
type InitOptions struct {
	// Incarnation is an input of every noise draw, so no two deployments with the same key draw the
	// same noise. Zero: Init draws 128 random bits.
	Incarnation [16]byte
	// Start is rounded down to deployment.FirstWindow. Earlier events do not belong to a window,
	// and windows that began earlier are not released. Zero: now.
	Start time.Time
	// By and Why are the author of the promise and the reason for it. ReadPromise reports them.
	By, Why string
	// Commit, if not nil, is called after all checks, before the HEADER is written. If it returns
	// an error, Init does not write the HEADER.
	Commit func() error
}

// Init writes the deployment's HEADER. After that, only Change can put a different configuration in
// force. The topics must exist. For schemas.CountsAvro, Init first registers the schema of counts.
//
// Errors: *InitialisedError, with the differences, if control already has a HEADER or another Init
// was faster; ErrLogFault if control contains other records, or is empty while ledger or counts are
// not; ErrTopicSettings; *ConfigError if the configuration is valid only for an existing
// deployment; or an error of the broker or the registry.
func Init(ctx context.Context, d *deployment.Deployment, o InitOptions) error {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	existing := initialised(ctx, d, client, 0)
	var initErr *InitialisedError
	if existing != nil && (!errors.As(existing, &initErr) || len(initErr.Differences) > 0) {
		return existing
	}
	if err := topicrules.Check(ctx, d, client, topicrules.Options{}); err != nil {
		return err
	}
	if existing != nil {
		return existing // all topics of the existing deployment are present
	}
	if err := d.CheckNew(); err != nil {
		return err
	}
	h := changes.Header(d)
	h.By, h.Why = o.By, o.Why
	// If Init is interrupted after this call, the next Init finds the registered schema.
	if h.Counts, err = admin.RegisterCounts(ctx, d); err != nil {
		return err
	}
	h.Incarnation = o.Incarnation
	if h.Incarnation == [16]byte{} {
		if _, err := rand.Read(h.Incarnation[:]); err != nil {
			return fmt.Errorf("drawing an incarnation id: %w", err)
		}
	}
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	h.StartMillis, h.FromTurn = deployment.FirstWindow(d, o.Start).UnixMilli(), 1
	h.SliceStart = h.StartMillis
	value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &h})
	if err != nil {
		return fmt.Errorf("encoding the HEADER: %w", err)
	}
	if o.Commit != nil {
		if err := o.Commit(); err != nil {
			return err
		}
	}
	p, err := client.NewProducer(ctx, d.Config.Outputs.Control, controllog.Partition, "")
	if err != nil {
		return fmt.Errorf("writing the HEADER: %w", err)
	}
	defer p.Close()
	var offset int64
	err = crashpoint.From(ctx).At.Around(crashpoint.HeaderWriting, crashpoint.HeaderWritten, -1, func() error {
		offset, err = p.Append(ctx, []kafkalog.Message{{Value: value, Timestamp: kafkalog.Now()}})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the HEADER: %w", err)
	}
	if offset != 0 {
		return cmp.Or(initialised(ctx, d, client, offset), deployment.ErrInitialised)
	}
	return nil
}

// Recover records on control that the operator named in by has investigated the STOP. The next run
// may then start. Recover fails if the deployment has not stopped itself.
func Recover(ctx context.Context, d *deployment.Deployment, by string) error {
	client, control, _, err := openDeployment(ctx, d, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer client.Close()
	var stop *schemas.Stop
	var offset int64
	control.WithView(func(v *controllog.View) { stop, offset = v.Stop, v.StopAt })
	if stop == nil {
		return errors.New("recovering: the deployment has not stopped itself, so there is nothing to recover from")
	}
	w, err := controllog.NewWriter(ctx, control)
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = w.Append(ctx, &schemas.Recover{By: by, Stop: offset})
	return err
}
