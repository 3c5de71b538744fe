package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Trouble is a call that the client tries again and again, or an answer for which it waits, because
// the cluster does not answer as it should.
type Trouble struct {
	Doing string    // what fails, in gerund voice: `reading topic "t" partition 3`
	Since time.Time // when it was first tried, or asked for, since the last success
	Cause error     // of the last failure
}

const (
	// silentAfter is how long a broker may take for an answer before it is a trouble: long polls,
	// which it answers late on purpose, are over by then.
	silentAfter = 5 * time.Second
	// silentUntil is how long after a request was given up its broker still counts as silent: the
	// next request is sent after a pause and, to a broker whose queue of connections is full, after
	// a dial that times out.
	silentUntil = dialTimeout + silentAfter
)

// health keeps what is known of the cluster's answers. A call that is tried again for minutes
// returns nothing to its caller until it gives up; health shows the trouble meanwhile. Safe for
// concurrent use.
type health struct {
	silentAfter time.Duration

	mu       sync.Mutex
	answered time.Time            // when a broker answered last
	appended map[string]time.Time // when a batch was acknowledged last, by topic
	waiting  map[*conn]time.Time  // requests without an answer yet: when they were sent
	silent   map[string]silence   // brokers that owe an answer, by address
	troubles map[*trouble]Trouble
	away     map[string]Away // brokers that could not be connected to, by address
}

// silence is the state of a broker that owes an answer. It outlives the requests that are given up
// meanwhile: otherwise a frozen broker would seem to have recovered each time that a request is
// sent again. It ends with an answer; when the connection breaks, which the failing call reports;
// or when no call asks this broker any more.
type silence struct {
	since  time.Time // when the oldest request was sent that it has not answered
	gaveUp time.Time // when the last request was given up
}

// trouble stands for one call, or one partition, that may be in trouble.
type trouble struct{ _ byte } // not of size zero: its address is its identity

func newHealth(silentAfter time.Duration) *health {
	return &health{
		silentAfter: silentAfter, answered: time.Now(), appended: map[string]time.Time{},
		waiting: map[*conn]time.Time{}, silent: map[string]silence{}, troubles: map[*trouble]Trouble{}, away: map[string]Away{},
	}
}

// note records the failure of something that was begun at since and will be tried again.
func (h *health) note(t *trouble, since time.Time, doing string, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := Trouble{Doing: doing, Since: since, Cause: cause}
	if before, ok := h.troubles[t]; ok {
		now.Since = before.Since
	}
	h.troubles[t] = now
}

// over ends a trouble: the call has succeeded, or is not tried any more.
func (h *health) over(t *trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.troubles, t)
}

// asked records that a request is on its way.
func (h *health) asked(cn *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if s, owes := h.silent[cn.addr]; !owes || h.forgotten(cn.addr, s) {
		h.silent[cn.addr] = silence{since: now}
	}
	h.waiting[cn] = now
}

// heard records the answer to the request that was sent last, or the error because of which no
// answer will come.
func (h *health) heard(cn *conn, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	s := h.silent[cn.addr]
	gaveUp := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed)
	delete(h.waiting, cn)
	if err == nil {
		h.answered = now
	}
	if gaveUp && now.Sub(s.since) >= h.silentAfter {
		s.gaveUp = now
		h.silent[cn.addr] = s
		return
	}
	// The requests for which other calls still wait were sent before, or are unanswered for the
	// same reason.
	if since, owes := h.oldest(cn.addr); owes {
		h.silent[cn.addr] = silence{since: since}
	} else {
		delete(h.silent, cn.addr)
	}
}

// oldest returns when the oldest request was sent that a broker has not answered and that is not
// given up.
func (h *health) oldest(addr string) (since time.Time, owes bool) {
	for cn, at := range h.waiting {
		if cn.addr == addr && (!owes || at.Before(since)) {
			since, owes = at, true
		}
	}
	return since, owes
}

// forgotten reports whether no call waits for a silent broker any more, nor has lately.
func (h *health) forgotten(addr string, s silence) bool {
	_, owes := h.oldest(addr)
	return !owes && time.Since(s.gaveUp) > silentUntil
}

// Troubles returns what the client waits for at the moment because the cluster does not answer, or
// answers that it cannot do it yet; the longest wait first. An empty list says that the cluster
// works as far as it was asked.
func (c *Client) Troubles() []Trouble {
	h := c.cfg.health
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.Collect(maps.Values(h.troubles))
	for addr, since := range h.silences() {
		list = append(list, Trouble{Doing: "waiting for broker " + addr, Since: since, Cause: errSilent})
	}
	slices.SortFunc(list, func(a, b Trouble) int { return a.Since.Compare(b.Since) })
	return list
}

// silences returns the brokers that owe an answer for too long, with the time since when.
func (h *health) silences() map[string]time.Time {
	all := map[string]time.Time{}
	for addr, s := range h.silent {
		switch {
		case h.forgotten(addr, s):
			delete(h.silent, addr)
		case time.Since(s.since) > h.silentAfter:
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

// dialed records the outcome of an attempt to connect that began at since.
func (h *health) dialed(addr string, since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.away, addr)
		return
	}
	var failed *stageError
	if !errors.As(err, &failed) || !failed.transient() {
		return // it refuses, which the failing call reports
	}
	if before, ok := h.away[addr]; ok {
		since = before.Since
	} else if s, owes := h.silent[addr]; owes && s.since.Before(since) && !h.forgotten(addr, s) {
		since = s.since // it was frozen before anything tried to connect to it
	}
	h.away[addr] = Away{Broker: addr, Since: since, Asked: time.Now(), Why: failed.why()}
}

// Away returns the brokers to which no connection could be made when that was last tried, by
// address. It need not keep the client from working: other brokers may stand in, and a broker that
// nothing is asked of stays in the list, with an Asked that does not move.
func (c *Client) Away() []Away {
	h := c.cfg.health
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.away), func(a, b Away) int { return strings.Compare(a.Broker, b.Broker) })
}

// Silent returns the brokers that do not answer though there are connections to them, by address,
// but for those that Away names: a broker that is frozen is silent for minutes before a new
// connection fails.
func (c *Client) Silent() []Away {
	h := c.cfg.health
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Away
	for addr, since := range h.silences() {
		if _, away := h.away[addr]; !away {
			list = append(list, Away{Broker: addr, Since: since, Asked: time.Now(), Why: errSilent.Error()})
		}
	}
	slices.SortFunc(list, func(a, b Away) int { return strings.Compare(a.Broker, b.Broker) })
	return list
}

// wrote records that a batch was acknowledged.
func (h *health) wrote(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.appended[topic] = time.Now()
}

// Appended returns when a batch of this client was acknowledged last on a topic; zero before the
// first.
func (c *Client) Appended(topic string) time.Time {
	h := c.cfg.health
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.appended[topic]
}

// Answered returns when a broker answered a request last; before the first answer, when the client
// was made.
func (c *Client) Answered() time.Time {
	h := c.cfg.health
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answered
}

// Ping asks all known brokers at once, on new connections, and returns nil as soon as one answers,
// else the error of the last one.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	addrs := c.addresses()
	answers := make(chan error, len(addrs))
	for _, addr := range addrs {
		go func() {
			cn, err := c.dial(ctx, addr)
			if err == nil {
				cn.close()
			}
			answers <- err
		}()
	}
	var last error
	for range addrs {
		if last = <-answers; last == nil {
			return nil
		}
	}
	return fmt.Errorf("finding a broker that answers: %w", last)
}

const (
	// After goneAfter without an answer of any broker, Gone asks all of them, waits for goneAsks,
	// and returns: together well below the ten seconds that supervisors wait before they kill a
	// process.
	goneAfter = 5 * time.Second
	goneAsks  = 2 * time.Second
)

// Gone waits until no broker has answered for some seconds, nor answers when all are asked, and
// returns an error that says so; nil at the end of ctx. A process that was told to end need not
// wait any longer then for calls that are tried again.
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
