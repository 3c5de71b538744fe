package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Dial connects to the first of cfg.Brokers that responds. The error is ErrUnreachable or
// ErrRefused; its text names what to check. Dial does not wait for a broker (see MayComeUp).
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

// MayComeUp reports whether an error of Dial may be due to a broker that is down, starting or
// stopping.
func MayComeUp(err error) bool { return errors.Is(err, errTransient) }

// errTransient matches every transient stageError, by errors.Is.
var errTransient = errors.New("another try may succeed")

// probeAll tries the bootstrap addresses in order: connection, versions, authentication, metadata
// (a listener that requires SASL closes the connection only at the last step). If brokers refuse,
// the error lists only those: their reasons help more than the errors from unreachable brokers.
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
