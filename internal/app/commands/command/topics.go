package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// CreateTopics creates the missing topics, and reports on stderr which they are.
func (a *App) CreateTopics(ctx context.Context, d *Loaded, o pipeline.TopicOptions) error {
	cfg := d.Config
	topics := []string{cfg.Outputs.Control, cfg.Outputs.Ledger, cfg.Outputs.Counts, cfg.Outputs.Turns,
		cfg.Outputs.DeadLetter}
	if o.EventPartitions > 0 {
		topics = append(topics, cfg.Events.Topic)
	}
	err := pipeline.CreateTopics(ctx, d.Deployment, o)
	if errors.Is(err, pipeline.ErrReplication) {
		return fmt.Errorf("%w: lower --replication, or start more brokers. Use 3 replicas unless you are only trying "+
			"things out: with 1, what a broker loses is lost", err)
	}
	there, only := existing(err)
	if !only {
		return err
	}
	for _, topic := range topics {
		if slices.Contains(there, topic) {
			fmt.Fprintf(a.Stderr, "topic %s exists and is used as it is\n", topic)
		} else {
			fmt.Fprintf(a.Stderr, "made topic %s\n", topic)
		}
	}
	return nil
}

// existing returns the topics that already existed according to an error of CreateTopics, and
// whether the error has no other cause.
func existing(err error) (topics []string, only bool) {
	switch e := err.(type) { //nolint:errorlint // it visits every branch of the tree
	case *kafkalog.CreateError:
		return e.Topics, errors.Is(e.Err, kafkalog.ErrTopicExists)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			more, only := existing(one)
			if !only {
				return nil, false
			}
			topics = append(topics, more...)
		}
		return topics, true
	case interface{ Unwrap() error }:
		return existing(e.Unwrap())
	}
	return nil, err == nil
}

// AwaitAnswer waits for a broker to answer, and returns an error if none does. Within seconds it
// logs that it is waiting: a frozen broker accepts connections, and each address takes ten seconds.
func (a *App) AwaitAnswer(ctx context.Context, kafka pipeline.Kafka) error {
	d := &pipeline.Deployment{Config: pipeline.Config{Kafka: kafka}}
	client, err := pipeline.AwaitBroker(ctx, d, 0, a.Checking(false).Logger)
	if err == nil {
		client.Close()
	}
	return err
}

// Connect waits until a broker answers, and connects.
func (a *App) Connect(ctx context.Context, kafka pipeline.Kafka) (*kafkalog.Client, error) {
	if err := a.AwaitAnswer(ctx, kafka); err != nil {
		return nil, err
	}
	return connect.Dial(ctx, kafka, a.Checking(false).Logger)
}
