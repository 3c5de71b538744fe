package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// appended is how many events are generated and appended at a time, to limit memory.
const appended = 16384

// topics holds a deployment whose topics are filled with the events of a load.
type topics struct {
	broker     *embedded.Broker // nil: the broker is another process
	deployment *pipeline.Deployment
}

// loaded creates the topics for a task and writes the events of its load.
func loaded(ctx context.Context, t task) (_ *topics, err error) {
	all := &topics{}
	defer func() {
		if err != nil {
			all.close()
		}
	}()
	addr := t.Broker
	if addr == "" {
		if all.broker, err = embedded.Start(embedded.Options{}); err != nil {
			return nil, err
		}
		addr = all.broker.Addr()
	}
	if all.deployment, err = pipeline.Compile(t.config(addr)); err != nil {
		return nil, err
	}
	if err := pipeline.CreateTopics(ctx, all.deployment, pipeline.TopicOptions{EventPartitions: t.Partitions}); err !=
		nil {
		return nil, err
	}
	p, err := newProducers(ctx, all.deployment, t.Partitions)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for from := 0; from < t.Load.Events; from += appended {
		if err := p.append(ctx, t.Load, from, min(from+appended, t.Load.Events), t.Load.Millis); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// config returns the configuration for a task.
func (t task) config(addr string) pipeline.Config {
	cfg := deploytest.Config(addr)
	cfg.Events.Format = workload.Avro()
	cfg.Privacy = pipeline.Privacy{Epsilon: epsilon, Delta: delta}
	cfg.Shards = t.Shards
	m := &cfg.Metrics[0]
	m.Window, m.MaxKeysPerUser, m.MaxEventsPerKey = workload.Window, maxKeysPerUser, maxEventsPerKey
	payFor(&cfg, t.Load.Windows)
	if t.Private {
		m.Keys = pipeline.Keys{Mode: pipeline.KeysPrivate}
	} else {
		m.Keys.List = t.Load.KeyNames()
	}
	return cfg
}

// payFor sets the least noise for which users at the bounds can pay in the given number of windows.
func payFor(cfg *pipeline.Config, windows int) {
	m := &cfg.Metrics[0]
	cfg.Privacy.Lasts = time.Duration(windows) * m.Window
	const mu = 0.235 // for epsilon and delta, less a tenth of delta for private keys
	m.Target.Absolute = math.Ceil(1.96 * maxEventsPerKey * math.Sqrt(float64(windows*maxKeysPerUser)) / mu)
}

func (all *topics) close() {
	if all.broker != nil {
		all.broker.Close()
	}
}

// producers appends event i to partition i mod the number of partitions.
type producers struct {
	client     *kafkalog.Client
	partitions []*kafkalog.Producer
	messages   []kafkalog.Message
	values     []byte // memory of the messages' values
}

func newProducers(ctx context.Context, d *pipeline.Deployment, partitions int) (*producers, error) {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return nil, err
	}
	p := &producers{client: client, partitions: make([]*kafkalog.Producer, partitions)}
	for i := range p.partitions {
		if p.partitions[i], err = client.NewProducer(ctx, d.Config.Events.Topic, int32(i), ""); err != nil {
			client.Close()
			return nil, err
		}
	}
	return p, nil
}

// append appends the events numbered from ≤ i < to, at the times that millis returns.
func (p *producers) append(ctx context.Context, l workload.Load, from, to int, millis func(i int) int64) error {
	n := len(p.partitions)
	for part, producer := range p.partitions {
		p.messages, p.values = p.messages[:0], p.values[:0]
		for i := from + ((part-from)%n+n)%n; i < to; i += n {
			begin := len(p.values)
			p.values = l.AppendAvro(p.values, i, millis(i))
			p.messages = append(p.messages,
				kafkalog.Message{Value: p.values[begin:len(p.values):len(p.values)], Timestamp: kafkalog.At(millis(i))})
		}
		if len(p.messages) == 0 {
			continue
		}
		if _, err := producer.Append(ctx, p.messages); err != nil {
			return fmt.Errorf("appending events: %w", err)
		}
	}
	return nil
}

func (p *producers) close() { p.client.Close() }
