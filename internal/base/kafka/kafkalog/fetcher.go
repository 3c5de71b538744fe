package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetcher reads partitions with long polls. Except for Close, it is not safe for concurrent use.
type Fetcher struct {
	// Reuse makes each Poll reuse the memory of the records that the previous Poll returned. Set it
	// before the first Poll.
	Reuse bool

	c       *Client
	links   map[int32]*link // by broker
	answers chan answer
	failing map[topicPartition]*failing // partitions that cannot be read
	life    context.Context             // ends with Close, or with the client's life
	end     context.CancelFunc
}

type link struct {
	addr        string
	sent        []Fetch // outstanding request; nil: none
	min         int32
	requestedAt int64     // when the request was about to be sent, in Unix ms
	started     time.Time // start of the Poll that sent the request
	cancel      context.CancelFunc
	memory      *space // memory of the response; in use from sending until the response is decoded
}

type failing struct {
	since   time.Time // start of the current series of failures
	missing absence
	trouble
}

func (f *Fetcher) forgetFailure(partition topicPartition) {
	if known := f.failing[partition]; known != nil {
		f.c.health.resolved(&known.trouble)
		delete(f.failing, partition)
	}
}

func (f *Fetcher) keepOnlyFailures(fetches []Fetch) {
	for partition := range f.failing {
		if !slices.ContainsFunc(fetches, func(fetch Fetch) bool { return fetch.topicPartition() == partition }) {
			f.forgetFailure(partition)
		}
	}
}

type answer struct {
	broker int32
	link   *link
	res    *kmsg.FetchResponse
	err    error
}

// NewFetcher returns a Fetcher. The caller must close it, or the Client.
func (c *Client) NewFetcher() *Fetcher {
	f := &Fetcher{c: c, links: map[int32]*link{}, answers: make(chan answer), failing: map[topicPartition]*failing{}}
	f.life, f.end = context.WithCancel(c.life)
	return f
}

// Close abandons outstanding requests. A Poll in progress fails.
func (f *Fetcher) Close() { f.end() }

// Poll waits until one broker has sent minBytes of committed records, or an error, or maxWait has
// passed. It returns a Fetched for each partition whose broker has responded. An outstanding
// request is kept for the next Poll if that has the same fetches; Fetched.RequestedAt is its time.
// Partitions without a leader are left out; after RetryFor their Fetched.Err reports it.
func (f *Fetcher) Poll(ctx context.Context, fetches []Fetch, minBytes int32, maxWait time.Duration) ([]Fetched, error) {
	if len(fetches) == 0 {
		return nil, errors.New("polling: no partition is given")
	}
	if f.life.Err() != nil {
		return nil, fmt.Errorf("polling: %w", ErrClosed)
	}
	for _, l := range f.links {
		if l.sent == nil {
			l.memory.invalidate()
		}
	}
	p := &poll{f: f, start: time.Now(), fetches: fetches, min: max(minBytes, 1),
		fetched: make(map[topicPartition]Fetched, len(fetches))}
	p.deadline = p.start.Add(maxWait)
	f.keepOnlyFailures(fetches)
	return p.run(ctx)
}

// dispatch ensures that exactly these fetches are outstanding at a broker. It keeps an equal
// request, and abandons any other together with its connection.
func (f *Fetcher) dispatch(broker int32, addr string, fetches []Fetch, minBytes int32, start time.Time,
	wait time.Duration) {
	l := f.links[broker]
	if l != nil && l.sent != nil {
		if l.addr == addr && l.min == minBytes && slices.Equal(l.sent, fetches) {
			return
		}
		f.drop(broker)
		l = nil
	}
	if l == nil {
		l = &link{memory: newSpace(f.c.decompressor, f.Reuse)}
		f.links[broker] = l
	}
	if !f.Reuse {
		l.memory = newSpace(f.c.decompressor, false)
	}
	wait = max(wait, 0)
	l.addr, l.requestedAt, l.started, l.sent, l.min = addr, time.Now().UnixMilli(), start, fetches, minBytes
	ctx, cancel := context.WithCancel(f.life)
	l.cancel = cancel
	go func() {
		defer cancel()
		a := answer{broker: broker, link: l, res: kmsg.NewPtrFetchResponse()}
		req := fetchRequest(fetches, minBytes, wait, readCommitted)
		if a.err = f.c.send(ctx, f.c.transport, addr, req, a.res, wait+f.c.cfg.waits.request, l.memory.bytes); a.err ==
			nil {
			a.err = codeError(a.res.ErrorCode)
		}
		select {
		case f.answers <- a:
		case <-ctx.Done():
		}
	}()
}

func (f *Fetcher) drop(broker int32) {
	if l := f.links[broker]; l != nil {
		delete(f.links, broker)
		l.cancel()
	}
}
