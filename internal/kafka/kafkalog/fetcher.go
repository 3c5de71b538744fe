package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetcher reads partitions by long polls over connections of its own. Not for concurrent use,
// except Close.
type Fetcher struct {
	// Reuse makes each Poll use the memory of what the one before has returned, which is not valid
	// any more then: neither the slices of records nor the bytes of a Record. Set it before the
	// first Poll.
	Reuse bool

	c            *Client
	decompressor kgo.Decompressor
	links        map[int32]*link
	answers      chan answer
	failing      map[topicPartition]*failing // partitions that cannot be read
	quit         chan struct{}
	once         sync.Once
	running      sync.WaitGroup

	mu    sync.Mutex // guards conns, and running against quit, for Close
	conns map[*conn]struct{}
}

// link is the connection to one broker and the request that is outstanding there.
type link struct {
	conn    *conn
	sent    []Fetch            // nil: nothing outstanding
	req     *kmsg.FetchRequest // of sent
	min     int32
	asked   int64     // unix ms, before sending
	started time.Time // when the Poll began that sent it
	timeout time.Duration
	in      *space // of the answer; written from sending on until the answer is decoded
}

// failing is the state of a partition that cannot be read for the moment.
type failing struct {
	since   time.Time // of failures of any kind
	missing absence
	trouble
}

// forgetFailure forgets the failure of a partition that was read, or is not wanted any more.
func (f *Fetcher) forgetFailure(at topicPartition) {
	if was := f.failing[at]; was != nil {
		f.c.cfg.health.over(&was.trouble)
		delete(f.failing, at)
	}
}

type answer struct {
	broker int32
	link   *link
	res    *kmsg.FetchResponse
	err    error
}

// NewFetcher returns a Fetcher without any connection yet. Close it, or the Client, when done.
func (c *Client) NewFetcher() *Fetcher {
	f := &Fetcher{
		c:            c,
		decompressor: kgo.DefaultDecompressor(),
		links:        map[int32]*link{},
		answers:      make(chan answer),
		failing:      map[topicPartition]*failing{},
		quit:         make(chan struct{}),
		conns:        map[*conn]struct{}{},
	}
	if c.adopt(f) != nil {
		close(f.quit)
		f.once.Do(func() {})
	}
	return f
}

// Close closes the connections and waits for the goroutines of outstanding requests. A Poll in
// progress fails.
func (f *Fetcher) Close() {
	f.once.Do(func() {
		f.c.disown(f)
		f.mu.Lock()
		close(f.quit)
		for cn := range f.conns {
			_ = cn.net.Close()
		}
		f.mu.Unlock()
	})
	f.running.Wait()
}

// Poll waits until minBytes of committed records (or an error) have come in from one broker, or
// maxWait is over, and returns what is known: one Fetched per partition whose broker answered.
// Every broker that leads a wanted partition has one request with all its partitions, so data in
// any of them ends the wait at once. A request that is still outstanding when another broker
// answers first, or when ctx ends, is kept for the next Poll if that asks the same; so only
// Fetched.Asked, not the time of the call, dates an answer.
//
// Partitions whose leader is away are asked for again while maxWait lasts, then left out; after
// RetryFor without success their Fetched.Err says so. The error of ctx is returned as soon as it
// ends.
func (f *Fetcher) Poll(ctx context.Context, fetches []Fetch, minBytes int32, maxWait time.Duration) ([]Fetched, error) {
	if len(fetches) == 0 {
		return nil, errors.New("polling: no partition is given")
	}
	select {
	case <-f.quit:
		return nil, fmt.Errorf("polling: %w", ErrClosed)
	default:
	}
	for _, l := range f.links {
		if l.sent == nil {
			l.in.giveBack()
		}
	}
	p := &poll{f: f, start: time.Now(), fetches: fetches, min: max(minBytes, 1), fetched: make(map[topicPartition]Fetched, len(fetches))}
	p.deadline = p.start.Add(maxWait)
	for at := range f.failing {
		if !slices.ContainsFunc(fetches, func(fetch Fetch) bool { return fetch.at() == at }) {
			f.forgetFailure(at)
		}
	}
	return p.run(ctx)
}

// dispatch makes sure that exactly these fetches are outstanding at a broker: an equal request is
// kept, another one is given up with its connection, because Kafka has no way to cancel it.
func (f *Fetcher) dispatch(ctx context.Context, broker int32, addr string, fetches []Fetch, minBytes int32, start time.Time, wait time.Duration) error {
	l := f.links[broker]
	if l != nil && l.sent != nil {
		if l.conn.addr == addr && l.min == minBytes && slices.Equal(l.sent, fetches) {
			return nil
		}
		f.drop(broker)
		l = nil
	}
	if l != nil && (l.conn.spent() || l.conn.addr != addr) {
		f.drop(broker)
		l = nil
	}
	if l == nil {
		cn, err := f.connect(ctx, addr)
		if err != nil {
			return err
		}
		l = &link{conn: cn, in: newSpace(f.decompressor, f.Reuse)}
		f.links[broker] = l
	}
	if !f.Reuse {
		l.in = newSpace(f.decompressor, false)
	}
	wait = max(wait, 0)
	l.asked, l.started, l.sent, l.min = time.Now().UnixMilli(), start, fetches, minBytes
	l.req, l.timeout = fetchRequest(fetches, minBytes, wait, readCommitted), wait+f.c.cfg.waits.request
	if err := l.conn.send(l.req, l.timeout); err != nil {
		f.drop(broker)
		return err
	}
	return f.start(broker, l)
}

// start begins to wait for the response to the request that was just sent, unless the Fetcher is
// being closed.
func (f *Fetcher) start(broker int32, l *link) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.quit:
		return ErrClosed
	default:
	}
	f.running.Add(1)
	go f.await(broker, l)
	return nil
}

// await reads one response and hands it to the Poll in progress.
func (f *Fetcher) await(broker int32, l *link) {
	defer f.running.Done()
	a := answer{broker: broker, link: l}
	var res kmsg.Response
	if res, a.err = l.conn.receive(l.req, l.timeout, l.in.bytes); a.err == nil {
		a.res = res.(*kmsg.FetchResponse)
		a.err = codeError(a.res.ErrorCode)
	}
	select {
	case f.answers <- a:
	case <-f.quit:
	}
}

func (f *Fetcher) connect(ctx context.Context, addr string) (*conn, error) {
	cn, err := f.c.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.quit:
		cn.close()
		return nil, ErrClosed
	default:
	}
	f.conns[cn] = struct{}{}
	return cn, nil
}

// drop closes the connection to a broker; a goroutine that still waits for it ends with an answer
// that is ignored.
func (f *Fetcher) drop(broker int32) {
	l := f.links[broker]
	if l == nil {
		return
	}
	delete(f.links, broker)
	f.mu.Lock()
	delete(f.conns, l.conn)
	f.mu.Unlock()
	_ = l.conn.net.Close()
}
