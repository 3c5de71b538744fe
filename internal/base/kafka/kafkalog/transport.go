package kafkalog

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = time.Minute               // after which an idle connection is closed
	never          = 1 << 62 * time.Nanosecond // interval of the Transport's own metadata requests
)

type waits struct {
	dial, request time.Duration
	silent        time.Duration // see silentAfter
}

// newest maps each request to the newest version that is used. None of these has a flexible header
// (KIP-482). With EndTxn 5 or later, a producer would get a new epoch for every transaction
// (KIP-890). In Fetch 13 or later, ids replace topic names.
var newest = map[protocol.ApiKey]int16{
	protocol.Produce: 8, protocol.Fetch: 11, protocol.ListOffsets: 5, protocol.Metadata: 8, protocol.FindCoordinator: 2,
	protocol.InitProducerId: 1, protocol.AddPartitionsToTxn: 2, protocol.EndTxn: 2, protocol.OffsetForLeaderEpoch: 3,
	protocol.CreateTopics: 4, protocol.DescribeConfigs: 3, protocol.SaslHandshake: 1, protocol.SaslAuthenticate: 1,
}

// newTransport returns a connection pool of kafka-go. It has several connections per broker, each
// with one request at a time.
func (c *Client) newTransport() *kafka.Transport {
	return &kafka.Transport{
		Dial: c.connect, DialTimeout: c.cfg.waits.dial, IdleTimeout: idleTimeout, MetadataTTL: never,
		ClientID: c.cfg.ClientID, Context: c.life,
	}
}

// exchange is a request to one broker, with its response. For its own request types, a Transport
// uses a cache or chooses the broker, so it must see only this type.
type exchange struct {
	c                *Client
	ctx              context.Context
	addr             string
	protocol.Message // the request
	res              any
	timeout          time.Duration
	memory           func(n int) []byte   // for the response
	step             atomic.Pointer[step] // step of the connection attempt for this exchange; nil: none
}

// step is a step in making a connection, with the Config that contains its TLS settings.
type step struct {
	stage
	cfg *Config
}

// abandoned is the step of an exchange whose call has ended: nothing more is sent for it.
var abandoned = new(step)

// reach records a step, or nil for the request itself; it returns false if the call has ended.
func (x *exchange) reach(s *step) bool {
	before := x.step.Load()
	return before != abandoned && x.step.CompareAndSwap(before, s)
}

type exchangeKey struct{}

func (*exchange) Required(map[protocol.ApiKey]int16) bool { return true }

var errRetired = errors.New("the connection is not used any more")

// send sends req to a broker and reads the response into res. After an error, res may be
// half-written.
func (c *Client) send(ctx context.Context, t *kafka.Transport, addr string, req protocol.Message, res any,
	timeout time.Duration, memory func(n int) []byte) error {
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	x := &exchange{c: c, ctx: callCtx, addr: addr, Message: req, res: res, timeout: timeout, memory: memory}
	begin := time.Now()
	endRequest := c.health.request(addr)
	_, err := t.RoundTrip(context.WithValue(callCtx, exchangeKey{}, x), kafka.TCP(addr), x)
	var failed *stageError
	switch reached := x.step.Swap(abandoned); {
	case err == nil:
	case c.life.Err() != nil:
		err = ErrClosed
	case errors.As(err, &failed):
	case reached != nil:
		failed = &stageError{stage: reached.stage, addr: addr, cfg: reached.cfg, err: err}
		err = failed
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	endRequest(err)
	if failed != nil && ctx.Err() == nil { // an abandoned attempt says nothing about the broker
		c.mu.Lock()
		failed.accepted = c.cfg.MayChange && c.accepted[addr]
		c.mu.Unlock()
		c.health.dialed(addr, begin, failed)
	}
	if errors.Is(err, errRetired) && ctx.Err() == nil {
		return c.send(ctx, t, addr, req, res, timeout, memory)
	}
	return err
}

// connect implements Transport.Dial with TCP and TLS. The first exchange authenticates.
func (c *Client) connect(ctx context.Context, _, addr string) (net.Conn, error) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok { // the Transport requests metadata for its own use
		return nil, errors.New("connections are made for calls only")
	}
	cfg := &c.cfg
	x.reach(&step{stageConnect, cfg})
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &stageError{stage: stageConnect, addr: addr, cfg: cfg, err: err}
	}
	if cfg.RenewTLS != nil {
		fresh := *cfg
		fresh.TLS = cfg.RenewTLS()
		cfg = &fresh
	}
	if t := cfg.TLS; t != nil {
		x.reach(&step{stageTLS, cfg})
		if t.ServerName == "" {
			host, _, _ := net.SplitHostPort(addr)
			t = t.Clone()
			t.ServerName = host
		}
		secured := tls.Client(conn, t)
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, &stageError{stage: stageTLS, addr: addr, cfg: cfg, err: err}
		}
		conn = secured
	}
	w := &wire{Conn: conn, c: c, cfg: cfg, addr: addr}
	if !c.adopt(w) {
		conn.Close()
		return nil, ErrClosed
	}
	x.reach(&step{stageVersions, cfg})
	// connect's ctx is also cancelled after a successful dial.
	w.keepOpen = context.AfterFunc(x.ctx, w.abort)
	return w, nil
}

type wire struct {
	net.Conn
	c             *Client
	cfg           *Config // the client's Config, with TLS as it was when connecting
	addr          string
	keepOpen      func() bool               // stops the abort of the connection when the call that made it ends
	greeting      []byte                    // what remains of the response to ApiVersions
	versions      map[protocol.ApiKey]int16 // the newest versions that the broker supports
	correlation   int32
	authenticated bool      // authenticated, if necessary
	retireAt      time.Time // shortly before the broker ends the session; zero: never
}

type wireAddr struct {
	net.Addr
	wire *wire
}

func (w *wire) LocalAddr() net.Addr { return wireAddr{w.Conn.LocalAddr(), w} }

func (w *wire) Close() error {
	w.c.disown(w)
	return w.Conn.Close()
}

// abort closes the connection, even in the middle of a request.
func (w *wire) abort() {
	_ = w.SetDeadline(time.Unix(1, 0)) // wakes a read or write in progress
	_ = w.Close()
}

// Read implements net.Conn for the only response that kafka-go decodes itself, that to ApiVersions.
func (w *wire) Read(b []byte) (int, error) {
	if w.greeting == nil {
		frame, err := readFrame(w.Conn, freshBytes)
		offered := kmsg.NewPtrApiVersionsResponse()
		if err == nil {
			err = decode(offered, 0, frame[frameHeader:])
		}
		if err != nil {
			return 0, err
		}
		w.versions = map[protocol.ApiKey]int16{}
		for _, k := range offered.ApiKeys {
			w.versions[protocol.ApiKey(k.ApiKey)] = k.MaxVersion
		}
		w.greeting = frame
	}
	if len(w.greeting) == 0 {
		return 0, io.EOF
	}
	n := copy(b, w.greeting)
	w.greeting = w.greeting[n:]
	return n, nil
}

func (x *exchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	w := rw.(net.Conn).LocalAddr().(wireAddr).wire
	stop := context.AfterFunc(x.ctx, w.abort)
	err := w.run(x)
	if !stop() && err == nil {
		err = x.ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (w *wire) run(x *exchange) error {
	if !w.authenticated {
		if !w.keepOpen() {
			return errRetired
		}
		if w.cfg.SASL != nil {
			x.reach(&step{stageSASL, w.cfg})
			_ = w.SetDeadline(time.Now().Add(w.cfg.waits.dial))
			if err := w.authenticate(x.ctx); err != nil {
				return err
			}
		}
		w.authenticated = true
		w.c.accept(w.addr)
	}
	if !x.reach(nil) || !w.retireAt.IsZero() && time.Now().After(w.retireAt) {
		return errRetired
	}
	_ = w.SetDeadline(time.Now().Add(x.timeout))
	return w.roundTrip(x.Message, x.res, x.memory)
}

func (w *wire) roundTrip(req protocol.Message, res any, memory func(n int) []byte) error {
	w.correlation++
	version := min(newest[req.ApiKey()], w.versions[req.ApiKey()])
	var err error
	if franz, ok := req.(franzRequest); ok {
		r := franz.make()
		version = min(franz.newest, w.versions[req.ApiKey()])
		r.SetVersion(version)
		_, err = w.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(w.cfg.ClientID)).AppendRequest(nil, r,
			w.correlation))
	} else {
		err = protocol.WriteRequest(w.Conn, version, w.correlation, w.cfg.ClientID, req)
	}
	if err != nil {
		return fmt.Errorf("sending to %s: %w", w.addr, err)
	}
	answer, err := readFrame(w.Conn, memory)
	switch {
	case err != nil:
	case int32(binary.BigEndian.Uint32(answer[4:])) != w.correlation:
		err = fmt.Errorf("%w: it is the response to another request", ErrCorrupt)
	default:
		err = decode(res, version, answer[frameHeader:])
	}
	if err != nil {
		return fmt.Errorf("receiving from %s: %w", w.addr, err)
	}
	return nil
}

// franzRequest creates a request that kafka-go lacks, at least in this version.
type franzRequest struct {
	newest int16
	make   func() kmsg.Request
}

// ApiKey implements protocol.Message.
//
//lint:ignore ST1003 kafka-go's name
func (r franzRequest) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.make().Key()) }

func freshBytes(n int) []byte { return make([]byte, n) }
