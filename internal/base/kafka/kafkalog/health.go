package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Trouble is a call that the client keeps retrying, or a response for which it waits.
type Trouble struct {
	Doing string    // what fails, with a gerund: `reading topic "t" partition 3`
	Since time.Time // time of the first attempt since the last success
	Cause error     // the last failure
}

// silentAfter is how long a broker may take to respond. Long polls end earlier.
const silentAfter = 5 * time.Second

// health holds the failures of calls that are being retried. It is safe for concurrent use.
type health struct {
	mu           sync.Mutex
	lastResponse time.Time            // from any broker
	appended     map[string]time.Time // time of the last acknowledged batch, by topic
	troubles     map[*trouble]Trouble
	waiting      map[*trouble]Trouble // requests without a response
	away         map[string]Away      // unreachable brokers, by address
}

// trouble is the identity of one call, request or partition that may be in trouble.
type trouble struct{ _ byte } // not of size zero: its address is its identity

func newHealth() *health {
	return &health{
		lastResponse: time.Now(), appended: map[string]time.Time{},
		troubles: map[*trouble]Trouble{}, waiting: map[*trouble]Trouble{}, away: map[string]Away{},
	}
}

func (h *health) lock() (unlock func()) {
	h.mu.Lock()
	return h.mu.Unlock
}

// failed records the failure of an attempt that began at since and will be repeated.
func (h *health) failed(t *trouble, since time.Time, doing string, cause error) {
	defer h.lock()()
	if before, ok := h.troubles[t]; ok {
		since = before.Since
	}
	h.troubles[t] = Trouble{Doing: doing, Since: since, Cause: cause}
}

func (h *health) resolved(t *trouble) {
	defer h.lock()()
	delete(h.troubles, t)
}

// request records the start of a request. The returned function records its end.
func (h *health) request(addr string) (end func(err error)) {
	defer h.lock()()
	call := new(trouble)
	h.waiting[call] = Trouble{Doing: "waiting for broker " + addr, Since: time.Now(), Cause: errSilent}
	return func(err error) {
		defer h.lock()()
		if delete(h.waiting, call); err == nil {
			h.lastResponse = time.Now()
		}
	}
}

// Troubles returns everything for which the client is waiting now, the longest wait first.
func (c *Client) Troubles() []Trouble {
	defer c.health.lock()()
	list := slices.Collect(maps.Values(c.health.troubles))
	for _, request := range c.health.waiting {
		if time.Since(request.Since) > c.cfg.waits.silent {
			list = append(list, request)
		}
	}
	slices.SortFunc(list, func(a, b Trouble) int { return a.Since.Compare(b.Since) })
	return list
}

var errSilent = errors.New("it does not respond: check whether it is stopped or overloaded, and the network")

// Away is a broker to which the client cannot connect.
type Away struct {
	Broker  string    // host:port
	Since   time.Time // start of the first failed attempt after the last success
	TriedAt time.Time // time of the last failed attempt
	Why     string    // the last failure, and what to check
}

// dialed records the outcome of an attempt to connect that began at since; failed is nil on
// success.
func (h *health) dialed(addr string, since time.Time, failed *stageError) {
	defer h.lock()()
	if failed == nil {
		delete(h.away, addr)
		return
	}
	if !failed.transient() {
		return // the broker refuses, which the failing call reports
	}
	if before, ok := h.away[addr]; ok {
		since = before.Since
	}
	h.away[addr] = Away{Broker: addr, Since: since, TriedAt: time.Now(), Why: failed.why()}
}

// Away returns the brokers whose last connection attempt failed, ordered by address.
func (c *Client) Away() []Away {
	defer c.health.lock()()
	return slices.SortedFunc(maps.Values(c.health.away), func(a, b Away) int {
		return strings.Compare(a.Broker, b.Broker)
	})
}

func (h *health) acknowledged(topic string) {
	defer h.lock()()
	h.appended[topic] = time.Now()
}

// Appended returns when the last batch was acknowledged on a topic, or zero before the first.
func (c *Client) Appended(topic string) time.Time {
	defer c.health.lock()()
	return c.health.appended[topic]
}

// LastResponse returns when the last response from any broker arrived. Before the first response,
// it returns when the client was created.
func (c *Client) LastResponse() time.Time {
	defer c.health.lock()()
	return c.health.lastResponse
}

// Ping sends a request to all known brokers at once, on new connections, until one responds.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	addrs := c.addresses()
	answers := make(chan error, len(addrs))
	for _, addr := range addrs {
		go func() { answers <- c.refreshOn(ctx, c.onNewConnection(addr, c.cfg.waits.dial), nil) }()
	}
	var last error
	for range addrs {
		if last = <-answers; last == nil {
			return nil
		}
	}
	return fmt.Errorf("finding a broker that responds: %w", last)
}

// After goneAfter without a response, Gone asks all brokers and waits for gonePing. The sum is well
// below the ten seconds that supervisors wait before they kill a process.
const (
	goneAfter = 5 * time.Second
	gonePing  = 2 * time.Second
)

// Gone returns an error once no broker has responded for some seconds, not even to a new request.
// It returns nil when ctx ends.
func (c *Client) Gone(ctx context.Context) error {
	for sleep(ctx, goneAfter/20) == nil {
		last := c.LastResponse()
		if time.Since(last) < goneAfter {
			continue
		}
		// Perhaps no call has sent a request.
		pingCtx, cancel := context.WithTimeout(ctx, gonePing)
		err := c.Ping(pingCtx)
		cancel()
		if err != nil && ctx.Err() == nil && c.LastResponse().Equal(last) {
			return fmt.Errorf("no broker has responded since %s: %w", last.UTC().Format(time.RFC3339), err)
		}
	}
	return nil
}
