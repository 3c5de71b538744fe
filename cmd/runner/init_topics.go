package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// createTopics makes the topics that are missing, and says which they are.
func (a *app) createTopics(ctx context.Context, d *loaded, o pipeline.TopicOptions) error {
	cfg := d.Config
	topics := []string{cfg.Outputs.Control, cfg.Outputs.Ledger, cfg.Outputs.Counts, cfg.Outputs.Turns, cfg.Outputs.DeadLetter}
	if o.EventPartitions > 0 {
		topics = append(topics, cfg.Events.Topic)
	}
	there, err := existing(ctx, cfg.Kafka, topics)
	if err != nil {
		return err
	}
	err = pipeline.CreateTopics(ctx, d.Deployment, o)
	if errors.Is(err, pipeline.ErrReplication) {
		return fmt.Errorf("%w; give --replication with at most as many, or start more brokers: with 1 replica what a broker loses is lost, for more than trying things out have 3", err)
	}
	if err != nil && !onlyExists(err) {
		return err
	}
	for _, topic := range topics {
		if there[topic] {
			fmt.Fprintf(a.stderr, "topic %s exists and is used as it is\n", topic)
		} else {
			fmt.Fprintf(a.stderr, "made topic %s\n", topic)
		}
	}
	return nil
}

// existing returns which of the topics exist.
func existing(ctx context.Context, kafka pipeline.Kafka, topics []string) (map[string]bool, error) {
	client, err := pipeline.Dial(ctx, kafka, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	there := map[string]bool{}
	for _, topic := range topics {
		_, err := client.Partitions(ctx, topic)
		if err != nil && !errors.Is(err, kafkalog.ErrUnknownTopic) {
			return nil, fmt.Errorf("looking for topic %s: %w", topic, err)
		}
		there[topic] = err == nil
	}
	return there, nil
}

// onlyExists reports whether every cause of an error is a topic that existed already.
func onlyExists(err error) bool {
	switch e := err.(type) { //nolint:errorlint // every branch of the tree is looked at
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !onlyExists(one) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	case interface{ Unwrap() error }:
		return onlyExists(e.Unwrap())
	}
	return err == kafkalog.ErrTopicExists //nolint:errorlint // the end of a chain
}
