package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	pollGrace    = time.Second     // how long a poll waits for responses after its deadline
	unknownGrace = 3 * time.Second // how long a partition may be unknown before reading it fails
)

type poll struct {
	f        *Fetcher
	start    time.Time
	deadline time.Time
	fetches  []Fetch
	min      int32
	fetched  map[topicPartition]Fetched
	done     bool      // return, because records, progress or a final error arrived
	retries  int       // failed attempts in a row
	retryAt  time.Time // when to send the requests again; zero: nothing has failed
}

func (p *poll) run(ctx context.Context) ([]Fetched, error) {
	p.sendRequests(ctx)
	for !p.finished() {
		wake := p.deadline.Add(pollGrace)
		if !p.retryAt.IsZero() && p.retryAt.Before(wake) {
			wake = p.retryAt
		}
		select {
		case a := <-p.f.answers:
			p.accept(ctx, a)
		case <-time.After(time.Until(wake)):
			if p.retryAt.IsZero() || time.Now().After(p.deadline) {
				return p.result()
			}
			p.retryAt = time.Time{}
			p.sendRequests(ctx)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-p.f.life.Done():
			return nil, fmt.Errorf("polling: %w", ErrClosed)
		}
	}
	return p.result()
}

func (p *poll) finished() bool {
	if p.done || len(p.fetched) == len(p.fetches) {
		return true
	}
	return !p.retryAt.IsZero() && p.retryAt.After(p.deadline)
}

func (p *poll) sendRequests(ctx context.Context) {
	begin := time.Now()
	type group struct {
		addr    string
		fetches []Fetch
	}
	groups := map[int32]*group{}
	for _, fetch := range p.fetches {
		if _, ok := p.fetched[fetch.topicPartition()]; ok {
			continue
		}
		id, addr, err := p.f.c.leaderOf(ctx, fetch.Topic, fetch.Partition)
		if err != nil {
			p.failed(fetch.topicPartition(), begin, err)
			continue
		}
		g := groups[id]
		if g == nil {
			g = &group{addr: addr}
			groups[id] = g
		}
		g.fetches = append(g.fetches, fetch)
	}
	for id, g := range groups {
		p.f.dispatch(id, g.addr, g.fetches, p.min, p.start, time.Until(p.deadline))
	}
}

func (p *poll) accept(ctx context.Context, a answer) {
	l := a.link
	if p.f.links[a.broker] != l || l.sent == nil {
		return // the request was abandoned
	}
	fetches := l.sent
	l.sent = nil
	if slices.ContainsFunc(fetches, func(fetch Fetch) bool { return !slices.Contains(p.fetches, fetch) }) {
		return // other brokers lead the partitions now, and later requests have other offsets
	}
	if a.err != nil {
		p.f.drop(a.broker)
		since := time.Now()
		if errors.Is(a.err, os.ErrDeadlineExceeded) || errors.As(a.err, new(*stageError)) {
			since = l.started // the Poll has waited since then
		}
		for _, fetch := range fetches {
			p.failed(fetch.topicPartition(), since, a.err)
		}
		return
	}
	all, progress, retry := decodeResponse(fetches, a.res, l.memory)
	if len(retry) == 0 && !progress && l.started != p.start {
		p.sendRequests(ctx) // the response to an earlier poll may be older than this call
		return
	}
	for partition, err := range retry {
		p.failed(partition, time.Now(), err)
	}
	if len(retry) > 0 && !progress {
		return // the errors ended the broker's wait early: all partitions are requested again
	}
	for _, fetched := range all {
		fetched.RequestedAt = l.requestedAt
		partition := topicPartition{fetched.Topic, fetched.Partition}
		p.fetched[partition] = fetched
		p.f.forgetFailure(partition)
	}
	p.done = p.done || progress
}

// failed records that a partition has been unreadable since a given time, and schedules a retry.
func (p *poll) failed(partition topicPartition, since time.Time, err error) {
	f := p.f
	f.c.forget(partition.topic)
	current := f.failing[partition]
	if current == nil {
		current = &failing{since: time.Now()}
		f.failing[partition] = current
		f.c.cfg.Logger.Debug("waiting for a partition", "topic", partition.topic, "partition", partition.partition,
			"cause", err)
	}
	f.c.health.failed(&current.trouble, since, fmt.Sprintf("reading topic %q partition %d", partition.topic,
		partition.partition), err)
	var final error
	switch {
	case current.missing.lasts(err, unknownGrace):
		final = ErrUnknownTopic
	case !retriable(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		final = err
	case time.Since(current.since) > f.c.cfg.RetryFor:
		final = fmt.Errorf("giving up after %s: %w", f.c.cfg.RetryFor, err)
	}
	if final != nil {
		fetched := Fetched{Topic: partition.topic, Partition: partition.partition, High: -1, LastStable: -1}
		for _, fetch := range p.fetches { // only an earlier Poll may have requested the partition
			if fetch.topicPartition() == partition {
				fetched.Next = fetch.Offset
			}
		}
		fetched.Err = fetched.fail(final)
		p.fetched[partition], p.done = fetched, true
		f.forgetFailure(partition)
	} else if p.retryAt.IsZero() {
		p.retryAt = time.Now().Add(retryDelay(p.retries))
		p.retries++
	}
}

func (p *poll) result() ([]Fetched, error) {
	list := make([]Fetched, 0, len(p.fetched))
	for _, fetch := range p.fetches {
		if fetched, ok := p.fetched[fetch.topicPartition()]; ok {
			list = append(list, fetched)
		}
	}
	return list, nil
}
