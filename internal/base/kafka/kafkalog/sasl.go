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
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// authenticate runs the SASL exchange. kafka-go's own function drops the mechanisms of the listener
// and the lifetime of the session.
func (w *wire) authenticate(ctx context.Context) error {
	fail := func(err error, offered []string) error {
		return &stageError{stage: stageSASL, addr: w.addr, cfg: w.cfg, offered: offered, err: err}
	}
	mechanism, hello := w.cfg.SASL, kmsg.NewPtrSASLHandshakeResponse()
	if err := w.roundTrip(&saslhandshake.Request{Mechanism: mechanism.Name()}, hello, freshBytes); err != nil {
		return fail(err, nil)
	}
	if err := codeError(hello.ErrorCode); err != nil {
		return fail(err, hello.SupportedMechanisms)
	}
	host, portText, _ := net.SplitHostPort(w.addr)
	port, _ := strconv.Atoi(portText)
	ctx = sasl.WithMetadata(ctx, &sasl.Metadata{Host: host, Port: port})
	session, token, err := mechanism.Start(ctx)
	if err != nil {
		return fail(err, nil)
	}
	for done := false; !done; {
		res := kmsg.NewPtrSASLAuthenticateResponse()
		err := w.roundTrip(&saslauthenticate.Request{AuthBytes: token}, res, freshBytes)
		switch {
		case errors.Is(err, io.EOF): // some brokers end a failed exchange by closing the connection
			return fail(fmt.Errorf("%w: %w", kafka.SASLAuthenticationFailed, err), nil)
		case err != nil:
			return fail(err, nil)
		case res.ErrorCode != 0:
			return fail(codeError(res.ErrorCode), nil)
		}
		// The broker closes the connection when the session ends. The client replaces it earlier.
		if lifetime := time.Duration(res.SessionLifetimeMillis) * time.Millisecond; lifetime > 0 {
			w.retireAt = time.Now().Add(lifetime * 4 / 5)
		}
		if done, token, err = session.Next(ctx, res.SASLAuthBytes); err != nil {
			return fail(err, nil)
		}
	}
	return nil
}

// Named is an optional interface of SASL mechanisms. Error messages then contain the user name.
type Named interface{ User() string }
