package pipeline

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
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
	client, err := d.dial(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	forever := map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
	compact := map[string]string{"cleanup.policy": "compact"}
	out := &d.cfg.Outputs
	specs := []klog.TopicSpec{
		{Name: out.Control, Partitions: 1, Replication: o.Replication, Config: forever},
		{Name: out.Ledger, Partitions: d.cfg.Shards, Replication: o.Replication, Config: compact},
		{Name: out.Counts, Partitions: d.cfg.ReleaseShards, Replication: o.Replication, Config: forever},
		{Name: out.DeadLetter, Partitions: 1, Replication: o.Replication, Config: forever},
	}
	if o.EventPartitions > 0 {
		specs = append(specs, klog.TopicSpec{Name: d.cfg.Events.Topic, Partitions: o.EventPartitions, Replication: o.Replication})
	}
	if err := client.CreateTopics(ctx, specs...); err != nil {
		return fmt.Errorf("creating the deployment's topics: %w", err)
	}
	return nil
}

// InitOptions fix what a deployment never changes.
type InitOptions struct {
	// Incarnation enters every noise draw; zero: 128 random bits.
	Incarnation [16]byte
	// Start is truncated to a window's start; earlier events belong to no
	// window. Zero: now.
	Start time.Time
}

// Init writes the deployment's HEADER. Errors: ErrInitialised when control has
// one; ErrLogFault when control is empty and ledger or counts are not.
func Init(ctx context.Context, d *Deployment, o InitOptions) error {
	client, err := d.dial(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := d.fresh(ctx, client); err != nil {
		return err
	}
	h := d.header()
	h.Incarnation = o.Incarnation
	if h.Incarnation == [16]byte{} {
		if _, err := rand.Read(h.Incarnation[:]); err != nil {
			return fmt.Errorf("drawing an incarnation id: %w", err)
		}
	}
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	h.StartMillis = align(o.Start.UnixMilli(), h.Metrics[0].WindowSize)
	value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &h})
	if err != nil {
		return fmt.Errorf("encoding the HEADER: %w", err)
	}
	p, err := client.NewProducer(ctx, d.cfg.Outputs.Control, controlPartition, "")
	if err != nil {
		return fmt.Errorf("writing the HEADER: %w", err)
	}
	defer p.Close()
	at, err := p.Append(ctx, []klog.Message{{Value: value}})
	if err != nil {
		return fmt.Errorf("writing the HEADER: %w", err)
	}
	if at != 0 {
		return fmt.Errorf("writing the HEADER: somebody else was first: %w", ErrInitialised)
	}
	return nil
}

// fresh refuses topics that hold anything.
func (d *Deployment) fresh(ctx context.Context, client *klog.Client) error {
	control, err := client.Offsets(ctx, d.cfg.Outputs.Control, controlPartition)
	if err != nil {
		return fmt.Errorf("looking at control: %w (has the topic been created?)", err)
	}
	if control.High > 0 {
		return fmt.Errorf("initialising: topic %s is not empty: %w", d.cfg.Outputs.Control, ErrInitialised)
	}
	for _, t := range []struct {
		topic string
		want  int
	}{{d.cfg.Outputs.Ledger, d.cfg.Shards}, {d.cfg.Outputs.Counts, d.cfg.ReleaseShards}} {
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

// agrees compares the configuration with the HEADER, field by field.
func (d *Deployment) agrees(h *schemas.Header) error {
	want := d.header()
	differs := func(field string) error {
		return fmt.Errorf("comparing with the HEADER of topic %s: %s differs: %w; put the old value back, or begin a new deployment", d.cfg.Outputs.Control, field, ErrHeaderMismatch)
	}
	switch {
	case h.UserHash != want.UserHash:
		return differs("the user-hash key")
	case !slices.Equal(h.NoiseKeys, want.NoiseKeys):
		return differs("the noise key")
	case h.Budget != want.Budget:
		return differs("the budget (epsilon, delta, delta_keys, accountant)")
	case h.Shards != want.Shards, h.ReleaseShards != want.ReleaseShards, h.LedgerSlots != want.LedgerSlots:
		return differs("the number of shards, release shards or ledger slots")
	case h.EventsTopic != want.EventsTopic:
		return differs("the events topic")
	case h.UserField != want.UserField:
		return differs("the user field")
	case h.Topics != want.Topics:
		return differs("the name of an output topic")
	case len(h.Metrics) != len(want.Metrics):
		return differs("the number of metrics")
	}
	for i := range want.Metrics {
		a, b := h.Metrics[i].Digest(), want.Metrics[i].Digest()
		if !bytes.Equal(a[:], b[:]) {
			return differs("the metric " + want.Metrics[i].Name)
		}
	}
	return nil
}

// Recover says that somebody has looked into a STOP: the next run may start.
func Recover(ctx context.Context, d *Deployment, by string) error {
	client, err := d.dial(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	t, err := openTail(ctx, client, d)
	if err != nil {
		return err
	}
	var stop *schemas.Stop
	t.look(func(v *view) { stop = v.stop })
	if stop == nil {
		return errors.New("recovering: the deployment has not stopped itself; there is nothing to recover from")
	}
	w, err := newControlWriter(ctx, t)
	if err != nil {
		return err
	}
	defer w.close()
	_, err = w.append(ctx, &schemas.Recover{By: by})
	return err
}
