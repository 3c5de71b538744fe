package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// authenticate runs the SASL exchange of mechanism. Errors are stageErrors that name the mechanism.
func (c *conn) authenticate(ctx context.Context, mechanism sasl.Mechanism) error {
	user := ""
	if n, ok := mechanism.(Named); ok {
		user = n.User()
	}
	fail := func(err error, offered []string) error {
		return &stageError{stage: stageSASL, addr: c.addr, mechanism: mechanism.Name(), user: user, offered: offered, err: err}
	}
	// Version 0 of the handshake is followed by bare tokens; every broker since 1.0 has version 1.
	hello := kmsg.NewPtrSASLHandshakeRequest()
	if c.newest[hello.Key()] < 1 {
		return fail(errors.New("broker older than Kafka 1.0"), nil)
	}
	hello.Mechanism = mechanism.Name()
	res, err := hello.RequestWith(ctx, c.within(c.cfg.waits.dial))
	if err != nil {
		return fail(err, nil)
	}
	if err := codeError(res.ErrorCode); err != nil {
		return fail(err, res.SupportedMechanisms)
	}
	host, portText, _ := net.SplitHostPort(c.addr)
	port, _ := strconv.Atoi(portText)
	ctx = sasl.WithMetadata(ctx, &sasl.Metadata{Host: host, Port: port})
	session, token, err := mechanism.Start(ctx)
	if err != nil {
		return fail(err, nil)
	}
	for done := false; !done; {
		challenge, lifetime, err := c.saslStep(ctx, token)
		if err != nil {
			return fail(err, nil)
		}
		// The broker ends the connection then; before that, another one takes over.
		if c.retires = (time.Time{}); lifetime > 0 {
			c.retires = time.Now().Add(lifetime * 4 / 5)
		}
		if done, token, err = session.Next(ctx, challenge); err != nil {
			return fail(err, nil)
		}
	}
	return nil
}

// saslStep sends a token and returns the broker's, and for how long the session will be valid: 0
// for ever.
func (c *conn) saslStep(ctx context.Context, token []byte) ([]byte, time.Duration, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.SASLAuthBytes = token
	res, err := req.RequestWith(ctx, c.within(c.cfg.waits.dial))
	if errors.Is(err, io.EOF) {
		// Some brokers end a failed exchange by closing the connection.
		return nil, 0, fmt.Errorf("%w: %w", kafka.SASLAuthenticationFailed, err)
	}
	if err != nil {
		return nil, 0, err
	}
	return res.SASLAuthBytes, time.Duration(res.SessionLifetimeMillis) * time.Millisecond, codeError(res.ErrorCode)
}

// Named may be implemented by a SASL mechanism, so that error texts have its user name.
type Named interface{ User() string }
