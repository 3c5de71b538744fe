package klog

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
	// maxFrame bounds what a peer can make us allocate. A fetch asks for at most maxFetchBytes, and a broker may
	// exceed that by one batch.
	maxFrame = 256 << 20
	// frameHeader is size and correlation id.
	frameHeader = 8
)

// waits are how long a client waits for answers; tests have shorter ones.
type waits struct {
	dial, request time.Duration
	silent        time.Duration // see silentAfter
}

// conn is one authenticated connection to one broker. Not for concurrent use, except that a request may be
// written by one goroutine and its response read by another afterwards.
type conn struct {
	net         net.Conn
	addr        string
	clientID    string
	versions    map[protocol.ApiKey]int16
	correlation int32
	health      *health       // of the client; may be nil
	dialing     time.Duration // how long a step of coming to terms may take
	broken      bool          // a request was left without its response: the stream is out of step
}

// dialConn connects, agrees on versions and authenticates. Errors are stageErrors.
func dialConn(ctx context.Context, cfg *Config, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.waits.dial)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &stageError{stage: stageConnect, addr: addr, cfg: cfg, err: err}
	}
	c := &conn{net: raw, addr: addr, clientID: cfg.ClientID, health: cfg.health, dialing: cfg.waits.dial}
	if cfg.TLS != nil {
		t := cfg.TLS
		if t.ServerName == "" {
			host, _, _ := net.SplitHostPort(addr)
			t = t.Clone()
			t.ServerName = host
		}
		tc := tls.Client(raw, t)
		if err := tc.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, &stageError{stage: stageTLS, addr: addr, cfg: cfg, err: err}
		}
		c.net = tc
	}
	if err := c.agree(ctx); err != nil {
		c.close()
		return nil, &stageError{stage: stageVersions, addr: addr, cfg: cfg, err: err}
	}
	if cfg.SASL != nil {
		if err := c.authenticate(ctx, cfg.SASL); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// agree asks for the API versions and keeps, per API, the highest that both sides know.
func (c *conn) agree(ctx context.Context) error {
	res, err := c.call(ctx, &apiversions.Request{}, c.dialing)
	if err != nil {
		return err
	}
	versions, ok := res.(*apiversions.Response)
	if !ok {
		return ErrCorrupt
	}
	if versions.ErrorCode != 0 {
		return codeError(versions.ErrorCode)
	}
	c.versions = make(map[protocol.ApiKey]int16, len(versions.ApiKeys))
	for _, k := range versions.ApiKeys {
		key := protocol.ApiKey(k.ApiKey)
		if key < 0 || key > protocol.AlterUserScramCredentials {
			continue // newer than kafka-go's table
		}
		c.versions[key] = key.SelectVersion(k.MinVersion, k.MaxVersion)
	}
	return nil
}

// call sends req and waits for its response. After an error the connection must be closed (broken is set).
func (c *conn) call(ctx context.Context, req protocol.Message, timeout time.Duration) (protocol.Message, error) {
	version := c.versions[req.ApiKey()]
	frame, err := c.exchange(ctx, req, version, timeout)
	if err != nil {
		return nil, err
	}
	_, res, err := protocol.ReadResponse(bytes.NewReader(frame), req.ApiKey(), version)
	if err != nil {
		c.broken = true
		return nil, fmt.Errorf("decoding a response of %s: %w", c.addr, errors.Join(ErrCorrupt, err))
	}
	return res, nil
}

// exchange sends req in the given version and returns the whole frame of its response.
func (c *conn) exchange(ctx context.Context, req protocol.Message, version int16, timeout time.Duration) ([]byte, error) {
	return c.roundTrip(ctx, timeout, func() error { return c.send(req, version, timeout) })
}

// exchangeRaw is exchange for a message that kafka-go does not encode. Its version must not be a flexible one: the header
// of the response would have another length.
func (c *conn) exchangeRaw(ctx context.Context, req kmsg.Request, timeout time.Duration) ([]byte, error) {
	return c.roundTrip(ctx, timeout, func() error {
		return c.write(timeout, func() error {
			format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.clientID))
			_, err := c.net.Write(format.AppendRequest(nil, req, c.correlation))
			return err
		})
	})
}

// roundTrip sends one request and returns the whole frame of its response.
func (c *conn) roundTrip(ctx context.Context, timeout time.Duration, send func() error) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The deadline in the past wakes a read or write in progress. Closing keeps one that is about to begin, with a deadline of its
	// own, from waiting for that; broken is set below.
	stop := context.AfterFunc(ctx, func() {
		_ = c.net.SetDeadline(time.Unix(1, 0))
		_ = c.net.Close()
	})
	err := send()
	var frame []byte
	if err == nil {
		frame, err = c.receive(timeout)
	}
	if !stop() {
		c.broken = true
		if err != nil {
			return nil, context.Cause(ctx)
		}
	}
	return frame, err
}

// send writes one request.
func (c *conn) send(req protocol.Message, version int16, timeout time.Duration) error {
	return c.write(timeout, func() error {
		return protocol.WriteRequest(c.net, version, c.correlation, c.clientID, req)
	})
}

// write runs put, which writes one request with the next correlation id.
func (c *conn) write(timeout time.Duration, put func() error) error {
	c.correlation++
	c.health.asked(c)
	if err := c.net.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		c.broken = true
		c.health.heard(c, err)
		return err
	}
	if err := put(); err != nil {
		c.broken = true
		c.health.heard(c, err)
		return fmt.Errorf("sending to %s: %w", c.addr, err)
	}
	return nil
}

// receive reads the response to the request sent last. The frame is freshly allocated and begins with size and
// correlation id.
func (c *conn) receive(timeout time.Duration) (frame []byte, err error) {
	defer func() {
		c.health.heard(c, err)
		if err != nil {
			c.broken = true
			err = fmt.Errorf("receiving from %s: %w", c.addr, err)
		}
	}()
	if err := c.net.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	return readFrame(c.net, c.correlation)
}

// readFrame reads one length-prefixed response and checks its correlation id.
func readFrame(r io.Reader, correlation int32) ([]byte, error) {
	var head [frameHeader]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n >= 4 && looksLikeTLS(head[:]) {
			return nil, errExpectsTLS
		}
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if looksLikeTLS(head[:]) {
		return nil, errExpectsTLS
	}
	if size < 4 || size > maxFrame {
		return nil, fmt.Errorf("%w: this is not a Kafka broker", ErrCorrupt)
	}
	if int32(binary.BigEndian.Uint32(head[4:])) != correlation {
		return nil, fmt.Errorf("%w: response to another request", ErrCorrupt)
	}
	frame, err := readBody(r, int(size)+4)
	if err != nil {
		return nil, err
	}
	copy(frame, head[:])
	return frame, nil
}

// readBody returns n bytes of which the first frameHeader are left to the caller. Large frames grow as their
// bytes come in, so that a wrong length costs no more memory than was sent.
func readBody(r io.Reader, n int) ([]byte, error) {
	const step = 16 << 20
	frame := make([]byte, min(n, step))
	at := frameHeader
	for {
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		at = len(frame)
		if at == n {
			return frame, nil
		}
		frame = append(frame, make([]byte, min(n-at, step))...)
	}
}

// errExpectsTLS: the first bytes of the answer are a TLS alert.
var errExpectsTLS = errors.New("broker appears to be expecting TLS")

// looksLikeTLS reports whether the first bytes of an answer are a TLS alert record.
func looksLikeTLS(head []byte) bool {
	return head[0] == 0x15 && head[1] == 3 && head[2] <= 4
}

func (c *conn) close() {
	c.broken = true
	_ = c.net.Close()
}

// isCode reports whether err carries one of the given Kafka error codes.
func isCode(err error, codes ...kafka.Error) bool {
	var code kafka.Error
	if !errors.As(err, &code) {
		return false
	}
	for _, c := range codes {
		if c == code {
			return true
		}
	}
	return false
}
