package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Dial connects to the first broker of cfg.Brokers that answers, and learns the cluster from it.
// The error is ErrUnreachable or ErrRefused; the text says what to check. Dial does not wait for a
// broker to come up (see MayComeUp), but asks one that hangs up once more before it blames the
// configuration.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := newClient(cfg)
	err = c.probeAll(ctx)
	if hungUp(err) && sleep(ctx, secondLook) == nil {
		err = c.probeAll(ctx)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("dialing Kafka: %w", err)
	}
	return c, nil
}

// secondLook is how long after a broker hung up it is asked again: a broker that stops has closed
// its port by then.
const secondLook = 300 * time.Millisecond

// MayComeUp reports whether an error of Dial may come from a broker that is down, or just starting
// or stopping: then it is worth waiting. It is not worth waiting for a broker that refuses.
func MayComeUp(err error) bool {
	return slices.ContainsFunc(Causes[*stageError](err), (*stageError).transient)
}

// probeAll tries the bootstrap addresses in order. Its error has the brokers that refuse, if any
// does: they say more than those that cannot be reached.
func (c *Client) probeAll(ctx context.Context) error {
	var refused, failed error
	for _, addr := range c.cfg.Brokers {
		err := c.probe(ctx, addr)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && !errors.As(err, new(*stageError)) {
			return ctx.Err()
		}
		if failed = errors.Join(failed, err); errors.Is(err, ErrRefused) {
			refused = errors.Join(refused, err)
		}
	}
	return cmp.Or(refused, failed)
}

// probe tries one bootstrap address: connection, versions, authentication, metadata. The last is
// asked because a listener that wants SASL answers ApiVersions to every client, and hangs up on the
// next request.
func (c *Client) probe(ctx context.Context, addr string) error {
	err := c.refreshOn(ctx, c.broker(addr), nil)
	if err == nil || errors.As(err, new(*stageError)) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &stageError{stage: stageMetadata, addr: addr, cfg: &c.cfg, err: err}
}
