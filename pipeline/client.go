package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
)

// Client is a connection to the brokers of a deployment, from AwaitBroker for RunOptions.Client.
type Client struct{ log *kafkalog.Client }

// Close closes the connection. Run closes the client in RunOptions.Client itself.
func (c *Client) Close() { c.log.Close() }

// AwaitBroker connects to a broker, and waits up to limit for one, so you can start a run while its
// broker restarts. Pass the client as RunOptions.Client, or close it. AwaitBroker logs the reason
// for the wait, at growing intervals. With limit 0, it tries once and returns the client's error.
//
// Errors: ErrNoBroker after limit; ctx's cause; or, at once, an error that a wait cannot fix.
func AwaitBroker(ctx context.Context, d *deployment.Deployment, limit time.Duration, log *slog.Logger) (*Client,
	error) {
	cfg, err := connect.Config(&d.Config.Kafka, log)
	if err != nil {
		return nil, err
	}
	client, err := watch.AwaitBroker(ctx, cfg, limit, log)
	if err != nil {
		return nil, err
	}
	return &Client{client}, nil
}
