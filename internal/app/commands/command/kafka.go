package command

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// AwaitAnswer returns an error unless a broker answers.
func (a *App) AwaitAnswer(ctx context.Context, kafka pipeline.Kafka) error {
	client, err := a.Connect(ctx, kafka)
	if err == nil {
		client.Close()
	}
	return err
}

// Connect connects to a broker. It says within seconds that none answers yet: a frozen one accepts
// connections, and each address takes ten seconds.
func (a *App) Connect(ctx context.Context, kafka pipeline.Kafka) (*kafkalog.Client, error) {
	return pipeline.AwaitBroker(ctx, &pipeline.Deployment{Config: pipeline.Config{Kafka: kafka}}, 0, a.Checking(false).Logger)
}
