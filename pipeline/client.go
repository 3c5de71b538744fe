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

// Client is a connection to the brokers of a deployment, for RunOptions.Client. AwaitBroker makes
// one.
type Client struct{ log *kafkalog.Client }

// Close ends the connection. Run does it for the client that it is given.
func (c *Client) Close() { c.log.Close() }

// AwaitBroker connects to a broker and waits for one that does not answer yet, for at most limit,
// so that a run can be started while its broker restarts: give RunOptions.Client the client, or
// close it. AwaitBroker logs what it waits for, at once and again at growing intervals. Errors:
// ErrNoBroker when limit is over; ctx's cause; at once an error that waiting does not mend, a wrong
// password for example. With limit 0 it tries once, and returns the client's own error.
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
