package kafkalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Client sends requests to a cluster. It caches the brokers and the leaders of partitions. It is
// safe for concurrent use.
type Client struct {
	cfg          Config
	transport    *kafka.Transport
	health       *health
	decompressor kgo.Decompressor
	life         context.Context // ends with Close
	end          context.CancelFunc

	mu         sync.Mutex
	wires      map[*wire]struct{} // open connections
	brokers    map[int32]string
	controller int32
	clusterID  string // "" before the first metadata
	topics     map[string]map[int32]leader
	accepted   map[string]bool // addresses of the brokers that have accepted this client
}

func newClient(cfg Config) *Client {
	life, end := context.WithCancel(context.Background())
	c := &Client{
		cfg: cfg, health: newHealth(), decompressor: kgo.DefaultDecompressor(), life: life, end: end,
		wires: map[*wire]struct{}{}, brokers: map[int32]string{}, controller: -1,
		topics: map[string]map[int32]leader{}, accepted: map[string]bool{},
	}
	c.transport = c.newTransport()
	return c
}

// Close closes all connections, fetchers and producers of the client. Calls in progress fail.
func (c *Client) Close() {
	c.mu.Lock()
	c.end()
	open := slices.Collect(maps.Keys(c.wires))
	c.mu.Unlock()
	for _, w := range open {
		w.abort()
	}
	c.transport.CloseIdleConnections()
}

// Done returns a channel that is closed when Close is called.
func (c *Client) Done() <-chan struct{} { return c.life.Done() }

func (c *Client) lock() (unlock func()) {
	c.mu.Lock()
	return c.mu.Unlock
}

// adopt registers a connection, so that Close closes it. It returns false if the client is closed.
func (c *Client) adopt(w *wire) bool {
	defer c.lock()()
	c.wires[w] = struct{}{}
	return c.life.Err() == nil
}

func (c *Client) disown(w *wire) {
	defer c.lock()()
	delete(c.wires, w)
}

func (c *Client) accept(addr string) {
	c.mu.Lock()
	c.accepted[addr] = true
	c.mu.Unlock()
	c.health.dialed(addr, time.Time{}, nil)
}

// requestor sends an idempotent request to a broker and reads the response into res.
type requestor func(ctx context.Context, req protocol.Message, res any) error

func (c *Client) broker(addr string) requestor {
	return func(ctx context.Context, req protocol.Message, res any) error {
		return c.send(ctx, c.transport, addr, req, res, c.cfg.waits.request, freshBytes)
	}
}

func (c *Client) onNewConnection(addr string, timeout time.Duration) requestor {
	return func(ctx context.Context, req protocol.Message, res any) error {
		t := c.newTransport()
		defer t.CloseIdleConnections()
		return c.send(ctx, t, addr, req, res, timeout, freshBytes)
	}
}

// anyBroker returns a requestor that sends to the first broker that responds.
func (c *Client) anyBroker() requestor {
	return func(ctx context.Context, req protocol.Message, res any) (err error) {
		for _, addr := range c.addresses() {
			err = c.broker(addr)(ctx, req, res)
			if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
				break
			}
		}
		return err
	}
}

// addresses returns the brokers in the metadata, then the bootstrap addresses.
func (c *Client) addresses() []string {
	defer c.lock()()
	list := slices.Sorted(maps.Values(c.brokers))
	for _, addr := range c.cfg.Brokers {
		if !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	return list
}
