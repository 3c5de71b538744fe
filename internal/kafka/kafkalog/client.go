package kafkalog

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client knows a cluster: its brokers, its topics' leaders, and a few idle connections. Safe for
// concurrent use.
type Client struct {
	cfg Config

	mu         sync.Mutex
	closed     bool
	brokers    map[int32]string
	controller int32
	clusterID  string // "" before the first metadata
	topics     map[string]map[int32]leader
	idle       map[string][]*conn
	busy       map[*conn]struct{}  // in a call
	welcomed   map[string]struct{} // brokers that have let this client in, by address
	readers    []*Fetcher          // idle fetchers of ReadRange
	open       map[closer]struct{}
	rightsMu   sync.Mutex
	rights     map[right]struct{} // that the client has had
	life       context.Context    // ends with Close
	end        context.CancelFunc
}

// closer is something that Client.Close must end.
type closer interface{ Close() }

// maxIdle bounds the connections kept per broker between calls.
const maxIdle = 8

func newClient(cfg Config) *Client {
	cfg.health = newHealth(cfg.waits.silent)
	cfg.frames = &sync.Pool{New: func() any { return new([]byte) }}
	life, end := context.WithCancel(context.Background())
	return &Client{
		cfg:        cfg,
		controller: -1,
		brokers:    map[int32]string{},
		topics:     map[string]map[int32]leader{},
		idle:       map[string][]*conn{},
		busy:       map[*conn]struct{}{},
		welcomed:   map[string]struct{}{},
		open:       map[closer]struct{}{},
		rights:     map[right]struct{}{},
		life:       life,
		end:        end,
	}
}

// Close closes every connection, fetcher and producer of the client. Calls in progress fail at
// once, whatever a broker does.
func (c *Client) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.end()
	for cn := range c.busy {
		_ = cn.net.Close()
	}
	idle := c.idle
	c.idle = map[string][]*conn{}
	open := slices.Collect(maps.Keys(c.open))
	c.readers = nil
	c.mu.Unlock()
	for _, conns := range idle {
		for _, cn := range conns {
			cn.close()
		}
	}
	for _, o := range open {
		o.Close()
	}
}

// Done is closed when Close is called.
func (c *Client) Done() <-chan struct{} { return c.life.Done() }

// adopt registers o, which Client.Close then closes.
func (c *Client) adopt(o closer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.open[o] = struct{}{}
	return nil
}

func (c *Client) disown(o closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, o)
}

// acquire returns an idle connection to addr or a new one. reused says that it was idle, so that
// the broker may have closed it meanwhile.
func (c *Client) acquire(ctx context.Context, addr string) (cn *conn, reused bool, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, false, ErrClosed
	}
	for n := len(c.idle[addr]); n > 0; n-- {
		cn = c.idle[addr][n-1]
		c.idle[addr] = c.idle[addr][:n-1]
		if cn.spent() {
			cn.close()
			continue
		}
		c.busy[cn] = struct{}{}
		c.mu.Unlock()
		return cn, true, nil
	}
	c.mu.Unlock()
	if cn, err = c.dial(ctx, addr); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		cn.close()
		return nil, false, ErrClosed
	}
	c.busy[cn] = struct{}{}
	return cn, false, nil
}

// dial makes a connection. Client.Close ends the attempt, too.
func (c *Client) dial(ctx context.Context, addr string) (*conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	begin := time.Now()
	cn, err := dialConn(ctx, &c.cfg, addr)
	c.welcome(addr, err)
	if err == nil || ctx.Err() == nil { // an attempt that was given up says nothing of the broker
		c.cfg.health.dialed(addr, begin, err)
	}
	return cn, err
}

// welcome notes that a broker has let the client in, or that a refusal comes from one that has.
func (c *Client) welcome(addr string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused *stageError
	switch {
	case err == nil:
		c.welcomed[addr] = struct{}{}
	case c.cfg.MayChange && errors.As(err, &refused):
		_, refused.welcomed = c.welcomed[addr]
	}
}

// release keeps a healthy connection for the next call.
func (c *Client) release(cn *conn) {
	if cn == nil {
		return
	}
	c.mu.Lock()
	delete(c.busy, cn)
	if cn.spent() || c.closed || len(c.idle[cn.addr]) >= maxIdle {
		c.mu.Unlock()
		cn.close()
		return
	}
	c.idle[cn.addr] = append(c.idle[cn.addr], cn)
	c.mu.Unlock()
}

// requestor sends a request to the broker for which the requestor was made, and returns the
// response; kmsg's RequestWith gives the response its type.
type requestor func(ctx context.Context, req kmsg.Request) (kmsg.Response, error)

// Request makes r a kmsg.Requestor.
func (r requestor) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return r(ctx, req)
}

// broker returns a requestor that sends idempotent requests to addr. If a connection that was idle
// turns out to be closed, it sends the request once more on a new one.
func (c *Client) broker(addr string) requestor {
	return func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
		for {
			cn, reused, err := c.acquire(ctx, addr)
			if err != nil {
				return nil, err
			}
			res, err := cn.call(ctx, req, c.cfg.waits.request)
			c.release(cn)
			// After a timeout the caller reports what it waits for before it tries again.
			if err == nil || !reused || ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
				return res, err
			}
		}
	}
}

// anyBroker returns a requestor that sends idempotent requests to the first broker that answers.
func (c *Client) anyBroker() requestor {
	return func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
		var last error
		for _, addr := range c.addresses() {
			res, err := c.broker(addr)(ctx, req)
			if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return res, err
			}
			last = err
		}
		return nil, last
	}
}

// addresses returns the brokers known from metadata, then the bootstrap list, which has other names
// of the same brokers, or a load balancer in front of them.
func (c *Client) addresses() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]string, 0, len(c.brokers)+len(c.cfg.Brokers))
	for _, id := range slices.Sorted(maps.Keys(c.brokers)) {
		list = append(list, c.brokers[id])
	}
	for _, addr := range c.cfg.Brokers {
		if !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	return list
}
