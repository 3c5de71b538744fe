package kafkalog

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/hooks/poison"
)

const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
)

// waits says how long a client waits for answers; tests set shorter times.
type waits struct {
	dial, request time.Duration
	silent        time.Duration // see silentAfter
}

// conn is one authenticated connection to one broker. Not for concurrent use, except that a request
// may be written by one goroutine and its response read by another afterwards.
type conn struct {
	net         net.Conn
	addr        string
	cfg         *Config         // of the client, with TLS as it was when the connection was made
	newest      map[int16]int16 // the broker's newest version, by the key of the request
	correlation int32
	broken      bool // a request is without its response: the stream is out of step
	// retires is when a new connection takes over, because the broker is about to end this one's
	// authentication; zero: never.
	retires time.Time
}

// spent reports whether no request may be sent any more.
func (c *conn) spent() bool {
	return c.broken || !c.retires.IsZero() && time.Now().After(c.retires)
}

// dialConn connects, agrees on versions and authenticates. Errors are stageErrors.
func dialConn(ctx context.Context, cfg *Config, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.waits.dial)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &stageError{stage: stageConnect, addr: addr, cfg: cfg, err: err}
	}
	if cfg.RenewTLS != nil {
		fresh := *cfg
		fresh.TLS = cfg.RenewTLS()
		cfg = &fresh
	}
	c := &conn{net: raw, addr: addr, cfg: cfg}
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

// agree asks for the newest version of every request that the broker knows.
func (c *conn) agree(ctx context.Context) error {
	res, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c.within(c.cfg.waits.dial))
	if err != nil {
		return err
	}
	if err := codeError(res.ErrorCode); err != nil {
		return err
	}
	c.newest = make(map[int16]int16, len(res.ApiKeys))
	for _, k := range res.ApiKeys {
		c.newest[k.ApiKey] = k.MaxVersion
	}
	return nil
}

// within returns a requestor that sends over c and waits for each response for at most timeout.
func (c *conn) within(timeout time.Duration) requestor {
	return func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) { return c.call(ctx, req, timeout) }
}

// call sends req and waits for its response. After an error the connection must be closed (broken
// is set).
func (c *conn) call(ctx context.Context, req kmsg.Request, timeout time.Duration) (res kmsg.Response, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The deadline in the past wakes a read or write in progress. Because the connection is closed,
	// one that is about to begin, with a deadline of its own, does not wait for that; broken is set
	// below.
	stop := context.AfterFunc(ctx, func() {
		_ = c.net.SetDeadline(time.Unix(1, 0))
		_ = c.net.Close()
	})
	if err = c.send(req, timeout); err == nil {
		res, err = c.receive(req, timeout, freshBytes)
	}
	if !stop() {
		c.broken = true
		if err != nil {
			return nil, context.Cause(ctx)
		}
	}
	return res, err
}

// send writes one request, in the newest version that both the broker and this package know.
func (c *conn) send(req kmsg.Request, timeout time.Duration) error {
	setVersion(req, c.newest[req.Key()])
	c.correlation++
	c.cfg.health.asked(c)
	err := c.net.SetWriteDeadline(time.Now().Add(timeout))
	if err == nil {
		frame := c.cfg.frames.Get().(*[]byte)
		*frame = appendRequest((*frame)[:0], req, c.cfg.ClientID, c.correlation)
		_, err = c.net.Write(*frame)
		poison.Bytes(*frame)
		c.cfg.frames.Put(frame)
	}
	if err != nil {
		c.broken = true
		c.cfg.health.heard(c, err)
		return fmt.Errorf("sending to %s: %w", c.addr, err)
	}
	return nil
}

// receive reads the response to req, which was the last that was sent, into bytes that memory
// returns.
func (c *conn) receive(req kmsg.Request, timeout time.Duration, memory func(n int) []byte) (kmsg.Response, error) {
	var frame []byte
	err := c.net.SetReadDeadline(time.Now().Add(timeout))
	if err == nil {
		frame, err = readFrame(c.net, c.correlation, memory)
	}
	c.cfg.health.heard(c, err)
	var res kmsg.Response
	if err == nil {
		res, err = decodeResponse(req, frame[frameHeader:])
	}
	if err != nil {
		c.broken = true
		return nil, fmt.Errorf("receiving from %s: %w", c.addr, err)
	}
	return res, nil
}

func freshBytes(n int) []byte { return make([]byte, n) }

func (c *conn) close() {
	c.broken = true
	_ = c.net.Close()
}
