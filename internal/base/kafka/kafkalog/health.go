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

// Trouble is a call that the client keeps retrying, or a response that it awaits.
type Trouble struct {
	Doing string    // the failing action, in gerund voice: `reading topic "t" partition 3`
	Since time.Time // first attempt since the last success
	Cause error     // the last failure
}

// silentAfter is how long a broker may take to respond; long polls end earlier.
const silentAfter = 5 * time.Second

// health keeps the failures of calls that are being retried. Safe for concurrent use.
type health struct {
	mu           sync.Mutex
	lastResponse time.Time            // from any broker
	appended     map[string]time.Time // time of the last acknowledged batch, by topic
	troubles     map[*trouble]Trouble
	waiting      map[*trouble]Trouble // requests without a response
	away         map[string]Away      // unreachable brokers, by address
}

// trouble represents one call, request or partition that may be in trouble.
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

// note records the failure of an attempt that began at since and will be repeated.
func (h *health) note(t *trouble, since time.Time, doing string, cause error) {
	defer h.lock()()
	if before, ok := h.troubles[t]; ok {
		since = before.Since
	}
	h.troubles[t] = Trouble{Doing: doing, Since: since, Cause: cause}
}

func (h *health) over(t *trouble) {
	defer h.lock()()
	delete(h.troubles, t)
}

// request records that a request begins. The returned function ends it.
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

// Troubles returns everything that the client is currently waiting for, the longest wait first.
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

// Away is a broker that refuses connections.
type Away struct {
	Broker string    // host:port
	Since  time.Time // start of the first failed attempt since the last success
	Asked  time.Time // time of the last failure
	Why    string    // the last failure, and what to check
}

// dialed records the outcome of an attempt to connect that began at since; nil is success.
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
	h.away[addr] = Away{Broker: addr, Since: since, Asked: time.Now(), Why: failed.why()}
}

// Away returns the brokers whose last connection attempt failed, by address.
func (c *Client) Away() []Away {
	defer c.health.lock()()
	return slices.SortedFunc(maps.Values(c.health.away), func(a, b Away) int {
		return strings.Compare(a.Broker, b.Broker)
	})
}

func (h *health) wrote(topic string) {
	defer h.lock()()
	h.appended[topic] = time.Now()
}

// Appended returns the time of the last acknowledged batch on a topic; zero before the first.
func (c *Client) Appended(topic string) time.Time {
	defer c.health.lock()()
	return c.health.appended[topic]
}

// LastResponse returns the time of the last response from any broker; before the first, the time
// when the client was made.
func (c *Client) LastResponse() time.Time {
	defer c.health.lock()()
	return c.health.lastResponse
}

// Ping asks all known brokers at once, on new connections, until one responds.
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

// After goneAfter without a response, Gone asks all brokers and waits for goneAsks: together well
// below the ten seconds that supervisors wait before they kill a process.
const (
	goneAfter = 5 * time.Second
	goneAsks  = 2 * time.Second
)

// Gone returns an error once no broker has responded for some seconds, not even to a new request;
// it returns nil when ctx ends.
func (c *Client) Gone(ctx context.Context) error {
	for sleep(ctx, goneAfter/20) == nil {
		last := c.LastResponse()
		if time.Since(last) < goneAfter {
			continue
		}
		// Perhaps no call has sent them a request.
		asked, cancel := context.WithTimeout(ctx, goneAsks)
		err := c.Ping(asked)
		cancel()
		if err != nil && ctx.Err() == nil && c.LastResponse().Equal(last) {
			return fmt.Errorf("no broker has responded since %s: %w", last.UTC().Format(time.RFC3339), err)
		}
	}
	return nil
}
