package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
)

// InitialisedError is an ErrInitialised with the differences between the configuration and the
// generation in force.
type InitialisedError struct {
	Topic       string    // the control topic
	Generation  uint32    // number of the generation in force
	Incarnation [16]byte  // id of the HEADER
	Start       time.Time // start of the deployment, UTC
	Cluster     string    // id of the Kafka cluster
	// Differences are as in ChangeResult. If there are none, the deployment differs from the one
	// that Init would begin only in its incarnation and start time.
	Differences []Difference
	// Late is the offset of this Init's HEADER, if another Init wrote its HEADER first and this one
	// is ignored. 0: this Init wrote none.
	Late int64
}

// Error implements error.
func (e *InitialisedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v on topic %s, ", deployment.ErrInitialised, e.Topic)
	if len(e.Differences) == 0 {
		b.WriteString("with this configuration")
	} else {
		b.WriteString("with another configuration")
	}
	fmt.Fprintf(&b, ": generation %d, incarnation %s, time begins at %s", e.Generation,
		hex.EncodeToString(e.Incarnation[:]), e.Start.Format(time.RFC3339))
	if e.Late > 0 {
		fmt.Fprintf(&b, " (another init was first, so this one's HEADER, at offset %d, is ignored)", e.Late)
	}
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "; %s differs%s", d.What, d.Detail())
	}
	return b.String()
}

// Unwrap returns ErrInitialised.
func (e *InitialisedError) Unwrap() error { return deployment.ErrInitialised }

// Initialised returns an *InitialisedError if the control topic has a HEADER. It returns nil if the
// topic is empty or does not exist. It changes nothing. Other errors: schemas.ErrVersion,
// ErrLogFault, or the broker's error.
func Initialised(ctx context.Context, d *deployment.Deployment) error {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return initialised(ctx, d, client, 0)
}

// initialised implements Initialised. late is the value of InitialisedError.Late.
func initialised(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, late int64) error {
	topic := d.Config.Outputs.Control
	bounds, err := client.Offsets(ctx, topic, controllog.Partition)
	switch {
	case errors.Is(err, kafkalog.ErrUnknownTopic):
		return nil
	case err != nil:
		return fmt.Errorf("reading control: %w", err)
	case bounds.High == 0:
		return nil
	}
	control, _, err := openControl(ctx, d, client, slog.New(slog.DiscardHandler))
	if errors.Is(err, deployment.ErrNotInitialised) {
		return &deployment.TopicError{Topic: topic, Got: "contains records, but no HEADER before them: another " +
			"program has written to it", Err: deployment.ErrLogFault,
			Fix: "set outputs.control to an empty topic, or delete this topic if you do not need its records"}
	}
	if err != nil {
		return err
	}
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		return err
	}
	want := changes.Header(d)
	h := control.Header
	return &InitialisedError{
		Topic: topic, Generation: h.Generation, Incarnation: h.Incarnation, Start: time.UnixMilli(h.StartMillis).UTC(),
		Cluster: cluster, Differences: changes.Differences(h, &want), Late: late,
	}
}
