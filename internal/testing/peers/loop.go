package main

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// loop is the contestant that counts in a plain map.
type loop struct {
	*topics
	client *kafkalog.Client
	mu     sync.Mutex
	found  map[cell]*int
}

// cell is a window, numbered from 0, and a key.
type cell struct {
	window int
	key    string
}

func prepareLoop(ctx context.Context, t task) (entrant, error) {
	all, err := loaded(ctx, t)
	if err != nil {
		return nil, err
	}
	client, err := connect.Dial(ctx, all.deployment.Config.Kafka, nil)
	if err != nil {
		all.close()
		return nil, err
	}
	return &loop{topics: all, client: client, found: map[cell]*int{}}, nil
}

func (l *loop) run(ctx context.Context) error {
	partitions, err := l.client.Partitions(ctx, l.deployment.Config.Events.Topic)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range partitions {
		g.Go(func() error { return l.partition(ctx, p) })
	}
	return g.Wait()
}

func (l *loop) partition(ctx context.Context, partition int32) error {
	topic := l.deployment.Config.Events.Topic
	bounds, err := l.client.Offsets(ctx, topic, partition)
	if err != nil {
		return err
	}
	decoder, err := event.NewDecoder(workload.Avro())
	if err != nil {
		return err
	}
	found := map[cell]*int{}
	var e event.Event
	err = l.client.ReadRange(ctx, topic, partition, bounds.Start, bounds.LastStable, func(r kafkalog.Record) error {
		if err := decoder.Decode(r.Value, &e); err != nil {
			return err
		}
		// The lookup with a converted key allocates no string.
		if n := found[cell{workload.WindowOf(e.Millis), string(e.Key)}]; n != nil {
			*n++
		} else {
			one := 1
			found[cell{workload.WindowOf(e.Millis), string(e.Key)}] = &one
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, n := range found {
		if sum := l.found[c]; sum != nil {
			*sum += *n
		} else {
			l.found[c] = n
		}
	}
	return nil
}

func (l *loop) counts(context.Context) (all []count, _ error) {
	for c, n := range l.found {
		all = append(all, count{window: c.window, key: c.key, value: float64(*n)})
	}
	return all, nil
}

func (l *loop) close() {
	l.client.Close()
	l.topics.close()
}
