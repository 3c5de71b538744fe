package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// TopicOptions say how topics are made.
type TopicOptions struct {
	EventPartitions int // 0: the events topic is somebody else's
	Replication     int // 0: the broker's default
}

// CreateTopics makes the deployment's topics with the settings that a restart
// needs. Topics that exist are left alone and reported as klog.ErrTopicExists.
func CreateTopics(ctx context.Context, d *Deployment, o TopicOptions) error {
	client, err := Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.CreateTopics(ctx, specsOfTopics(d, o)...); err != nil {
		return fmt.Errorf("creating the deployment's topics: %w", err)
	}
	return nil
}

// InitOptions fix what a deployment never changes.
type InitOptions struct {
	// Incarnation enters every noise draw; zero: 128 random bits.
	Incarnation [16]byte
	// Start is truncated to a multiple of the least slide; earlier events belong
	// to no window, and windows that began earlier are not released. Zero: now.
	Start time.Time
}

// Init writes the deployment's HEADER. Errors: ErrInitialised when control has
// one; ErrLogFault when control is empty and ledger or counts are not.
func Init(ctx context.Context, d *Deployment, o InitOptions) error {
	client, err := Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := checkTopics(d, ctx, client, CheckOptions{}); err != nil {
		return err
	}
	if err := fresh(d, ctx, client); err != nil {
		return err
	}
	h := headerOf(d)
	h.Incarnation = o.Incarnation
	if h.Incarnation == [16]byte{} {
		if _, err := rand.Read(h.Incarnation[:]); err != nil {
			return fmt.Errorf("drawing an incarnation id: %w", err)
		}
	}
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	startAt(&h, align(o.Start.UnixMilli(), leastSlide(d)))
	value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &h})
	if err != nil {
		return fmt.Errorf("encoding the HEADER: %w", err)
	}
	p, err := client.NewProducer(ctx, d.Config.Outputs.Control, controlPartition, "")
	if err != nil {
		return fmt.Errorf("writing the HEADER: %w", err)
	}
	defer p.Close()
	at, err := p.Append(ctx, []klog.Message{{Value: value, Timestamp: klog.Now()}})
	if err != nil {
		return fmt.Errorf("writing the HEADER: %w", err)
	}
	if at != 0 {
		return fmt.Errorf("writing the HEADER: somebody else was first on topic %s; the HEADER of this one stands at offset %d and is obeyed by nobody: %w", d.Config.Outputs.Control, at, ErrInitialised)
	}
	return nil
}

// startAt makes a header the first of a deployment.
func startAt(h *schemas.Header, millis int64) {
	h.StartMillis, h.FromTurn, h.SliceStart = millis, 1, millis
	for range h.Metrics {
		h.MetricStarts = append(h.MetricStarts, millis)
	}
}

// fresh refuses topics that hold anything.
func fresh(d *Deployment, ctx context.Context, client *klog.Client) error {
	control, err := client.Offsets(ctx, d.Config.Outputs.Control, controlPartition)
	if err != nil {
		return fmt.Errorf("looking at control: %w (has the topic been created?)", err)
	}
	if control.High > 0 {
		return fmt.Errorf("initialising: topic %s is not empty: %w", d.Config.Outputs.Control, ErrInitialised)
	}
	for _, t := range []struct {
		topic string
		want  int
	}{{d.Config.Outputs.Ledger, d.Config.Shards}, {d.Config.Outputs.Counts, d.Config.ReleaseShards}} {
		ids, err := client.Partitions(ctx, t.topic)
		if err != nil {
			return fmt.Errorf("looking at topic %s: %w", t.topic, err)
		}
		if len(ids) != t.want {
			return fmt.Errorf("initialising: topic %s has %d partitions and the configuration says %d: %w", t.topic, len(ids), t.want, ErrHeaderMismatch)
		}
		for _, id := range ids {
			bounds, err := client.Offsets(ctx, t.topic, id)
			if err != nil {
				return fmt.Errorf("looking at topic %s: %w", t.topic, err)
			}
			if bounds.High > 0 {
				return fmt.Errorf("initialising: control is empty and topic %s is not: they do not belong together, or control was lost: %w", t.topic, ErrLogFault)
			}
		}
	}
	return nil
}

// Recover says that somebody has looked into a STOP: the next run may start.
func Recover(ctx context.Context, d *Deployment, by string) error {
	client, err := Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	t, err := openTail(ctx, client, d, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	var stop *schemas.Stop
	var at int64
	t.look(func(v *view) { stop, at = v.stop, v.stopAt })
	if stop == nil {
		return errors.New("recovering: the deployment has not stopped itself; there is nothing to recover from")
	}
	w, err := newControlWriter(ctx, t)
	if err != nil {
		return err
	}
	defer w.close()
	_, err = w.append(ctx, &schemas.Recover{By: by, Stop: at})
	return err
}
