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

// Trouble is a call that the client keeps retrying, or an answer that it waits for.
type Trouble struct {
	Doing string    // what fails, in gerund voice: `reading topic "t" partition 3`
	Since time.Time // when it was first tried, or asked for, since the last success
	Cause error     // of the last failure
}

const (
	// silentAfter is how long a broker may take for an answer before it is a trouble: long polls
	// are over by then.
	silentAfter = 5 * time.Second
	// silentUntil is how long after a request was given up its broker still counts as silent: the
	// next one is sent after a pause, and perhaps after a dial that times out.
	silentUntil = dialTimeout + silentAfter
)

// health keeps what is known of the cluster's answers: a call that is tried again for minutes
// returns nothing to its caller until it gives up. Safe for concurrent use.
type health struct {
	silentAfter time.Duration

	mu       sync.Mutex
	answered time.Time            // when a broker answered last
	appended map[string]time.Time // when a batch was acknowledged last, by topic
	silent   map[string]*silence  // by the broker's address
	troubles map[*trouble]Trouble
	away     map[string]Away // brokers that could not be connected to, by address
}

// silence is how long a broker has answered nothing that it was asked. It outlives requests that
// are given up: otherwise a frozen broker would seem to have recovered each time that one is sent
// again.
type silence struct {
	waiting int       // requests without an answer
	since   time.Time // when the first of them was sent after the last answer or broken connection
	gaveUp  time.Time // when the last request was given up since then
}

// lasts reports whether the broker owes an answer: to a request that waits, or that was given up
// and may be sent again.
func (s *silence) lasts() bool { return s.waiting > 0 || time.Since(s.gaveUp) < silentUntil }

// trouble stands for one call, or one partition, that may be in trouble.
type trouble struct{ _ byte } // not of size zero: its address is its identity

func newHealth(silentAfter time.Duration) *health {
	return &health{
		silentAfter: silentAfter, answered: time.Now(), appended: map[string]time.Time{},
		silent: map[string]*silence{}, troubles: map[*trouble]Trouble{}, away: map[string]Away{},
	}
}

func (h *health) lock() (unlock func()) {
	h.mu.Lock()
	return h.mu.Unlock
}

// note records the failure of something that was begun at since and will be tried again.
func (h *health) note(t *trouble, since time.Time, doing string, cause error) {
	defer h.lock()()
	if before, ok := h.troubles[t]; ok {
		since = before.Since
	}
	h.troubles[t] = Trouble{Doing: doing, Since: since, Cause: cause}
}

// over ends a trouble: the call has succeeded, or is not tried any more.
func (h *health) over(t *trouble) {
	defer h.lock()()
	delete(h.troubles, t)
}

// asked records that a request to a broker begins.
func (h *health) asked(addr string) {
	defer h.lock()()
	s := h.silent[addr]
	if s == nil {
		s = new(silence)
		h.silent[addr] = s
	}
	if !s.lasts() {
		s.since = time.Now()
	}
	s.waiting++
}

// heard records the end of a request: its answer, a broken connection, or that it was given up.
func (h *health) heard(addr string, err error, gaveUp bool) {
	defer h.lock()()
	s, now := h.silent[addr], time.Now()
	s.waiting--
	switch {
	case err == nil:
		h.answered, s.since, s.gaveUp = now, now, time.Time{}
	case !gaveUp: // the failing call reports it
		s.since, s.gaveUp = now, time.Time{}
	case now.Sub(s.since) >= h.silentAfter:
		s.gaveUp = now
	}
}

// Troubles returns what the client waits for at the moment, the longest wait first.
func (c *Client) Troubles() []Trouble {
	defer c.health.lock()()
	list := slices.Collect(maps.Values(c.health.troubles))
	for addr, since := range c.health.silences() {
		list = append(list, Trouble{Doing: "waiting for broker " + addr, Since: since, Cause: errSilent})
	}
	slices.SortFunc(list, func(a, b Trouble) int { return a.Since.Compare(b.Since) })
	return list
}

// silences returns the brokers that owe an answer for too long, with the time since when.
func (h *health) silences() map[string]time.Time {
	all := map[string]time.Time{}
	for addr, s := range h.silent {
		if s.lasts() && time.Since(s.since) > h.silentAfter {
			all[addr] = s.since
		}
	}
	return all
}

var errSilent = errors.New("it has not answered a request: check whether it is stopped or overloaded, and the network")

// Away is a broker to which no connection can be made, or that does not answer.
type Away struct {
	Broker string    // host:port
	Since  time.Time // when the first attempt began that failed since the last success
	Asked  time.Time // when the last one failed
	Why    string    // what the last one said, and what to check
}

// dialed records the outcome of an attempt to connect that began at since; nil is success.
func (h *health) dialed(addr string, since time.Time, failed *stageError) {
	defer h.lock()()
	if failed == nil {
		delete(h.away, addr)
		return
	}
	if !failed.transient() {
		return // it refuses, which the failing call reports
	}
	if before, ok := h.away[addr]; ok {
		since = before.Since
	} else if s := h.silent[addr]; s != nil && s.lasts() && s.since.Before(since) {
		since = s.since // it was frozen before anything tried to connect to it
	}
	h.away[addr] = Away{Broker: addr, Since: since, Asked: time.Now(), Why: failed.why()}
}

// Away returns the brokers to which no connection could be made when that was last tried, by
// address. A broker that nothing is asked of stays in the list, with an Asked that does not move.
func (c *Client) Away() []Away {
	defer c.health.lock()()
	return slices.SortedFunc(maps.Values(c.health.away), byAddress)
}

func byAddress(a, b Away) int { return strings.Compare(a.Broker, b.Broker) }

// Silent returns the brokers that do not answer, by address, without those that Away names.
func (c *Client) Silent() []Away {
	defer c.health.lock()()
	var list []Away
	for addr, since := range c.health.silences() {
		if _, away := c.health.away[addr]; !away {
			list = append(list, Away{Broker: addr, Since: since, Asked: time.Now(), Why: errSilent.Error()})
		}
	}
	slices.SortFunc(list, byAddress)
	return list
}

// wrote records that a batch was acknowledged.
func (h *health) wrote(topic string) {
	defer h.lock()()
	h.appended[topic] = time.Now()
}

// Appended returns when a batch was acknowledged last on a topic; zero before the first.
func (c *Client) Appended(topic string) time.Time {
	defer c.health.lock()()
	return c.health.appended[topic]
}

// Answered returns when a broker answered last; before the first answer, when the client was made.
func (c *Client) Answered() time.Time {
	defer c.health.lock()()
	return c.health.answered
}

// Ping asks all known brokers at once, on new connections, and returns nil as soon as one answers,
// else the error of the last one.
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
	return fmt.Errorf("finding a broker that answers: %w", last)
}

// After goneAfter without an answer, Gone asks all brokers, and waits for goneAsks: together well
// below the ten seconds that supervisors wait before they kill a process.
const (
	goneAfter = 5 * time.Second
	goneAsks  = 2 * time.Second
)

// Gone waits until no broker has answered for some seconds, nor answers when all are asked, and
// returns an error that says so; nil at the end of ctx.
func (c *Client) Gone(ctx context.Context) error {
	ticker := time.NewTicker(goneAfter / 20)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		last := c.Answered()
		if time.Since(last) < goneAfter {
			continue
		}
		// Perhaps no call has sent them a request.
		asked, cancel := context.WithTimeout(ctx, goneAsks)
		err := c.Ping(asked)
		cancel()
		if err != nil && ctx.Err() == nil && c.Answered().Equal(last) {
			return fmt.Errorf("no broker has answered since %s: %w", last.UTC().Format(time.RFC3339), err)
		}
	}
}
