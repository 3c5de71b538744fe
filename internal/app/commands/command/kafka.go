package command

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// AwaitAnswer returns an error unless a broker answers. It reports within seconds that none answers
// yet: a frozen one accepts connections, and each address takes ten seconds.
func (a *App) AwaitAnswer(ctx context.Context, kafka pipeline.Kafka) error {
	d := &pipeline.Deployment{Config: pipeline.Config{Kafka: kafka}}
	client, err := pipeline.AwaitBroker(ctx, d, 0, a.Checking(false).Logger)
	if err == nil {
		client.Close()
	}
	return err
}

// Connect connects to the brokers, after AwaitAnswer.
func (a *App) Connect(ctx context.Context, kafka pipeline.Kafka) (*kafkalog.Client, error) {
	if err := a.AwaitAnswer(ctx, kafka); err != nil {
		return nil, err
	}
	return connect.Dial(ctx, kafka, a.Checking(false).Logger)
}
