package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Dial connects to the first of cfg.Brokers that responds. The error wraps ErrUnreachable or
// ErrRefused, and says what to check. Dial does not wait for a broker (see MayComeUp).
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := newClient(cfg)
	if err := c.probeAll(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("dialing Kafka: %w", err)
	}
	return c, nil
}

// MayComeUp reports whether an error of Dial may be due to a broker that is down or restarting.
func MayComeUp(err error) bool { return errors.Is(err, errTransient) }

// errTransient matches, with errors.Is, every stageError that is transient.
var errTransient = errors.New("another try may succeed")

// probeAll tries the bootstrap addresses in order: connection, versions, authentication, and
// metadata, because a listener that requires SASL closes the connection only at that step. If some
// brokers refuse, the error lists only these: their reasons help more than the failure to reach
// other brokers.
func (c *Client) probeAll(ctx context.Context) error {
	var refused, failed error
	for _, addr := range c.cfg.Brokers {
		err := c.refreshOn(ctx, c.broker(addr), nil)
		switch {
		case err == nil:
			return nil
		case errors.As(err, new(*stageError)):
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			err = &stageError{stage: stageMetadata, addr: addr, cfg: &c.cfg, err: err}
		}
		if failed = errors.Join(failed, err); errors.Is(err, ErrRefused) {
			refused = errors.Join(refused, err)
		}
	}
	return cmp.Or(refused, failed)
}
