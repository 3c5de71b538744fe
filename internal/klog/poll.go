package klog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
)

// pollGrace is how long after its deadline a poll still waits for answers that are on their way.
const pollGrace = time.Second

// unknownGrace is how long a partition that is being read may be unknown to the cluster.
const unknownGrace = 3 * time.Second

// poll is one call of Fetcher.Poll.
type poll struct {
	f        *Fetcher
	start    time.Time
	deadline time.Time
	wants    []Want
	min      int32
	got      map[place]Got
	done     bool      // records, progress or a final error came in: return
	retries  int       // failed attempts in a row
	retryAt  time.Time // when to dispatch again; zero: nothing has failed
}

func (p *poll) run(ctx context.Context) ([]Got, error) {
	p.askAll(ctx)
	for !p.finished() {
		wake := p.deadline.Add(pollGrace)
		if !p.retryAt.IsZero() && p.retryAt.Before(wake) {
			wake = p.retryAt
		}
		timer := time.NewTimer(time.Until(wake))
		select {
		case a := <-p.f.answers:
			p.take(ctx, a)
		case <-timer.C:
			if p.retryAt.IsZero() || time.Now().After(p.deadline) {
				timer.Stop()
				return p.result()
			}
			p.retryAt = time.Time{}
			p.askAll(ctx)
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-p.f.quit:
			timer.Stop()
			return nil, fmt.Errorf("polling: %w", ErrClosed)
		}
		timer.Stop()
	}
	return p.result()
}

// finished reports whether there is something to return, or nothing left to wait for.
func (p *poll) finished() bool {
	if p.done || len(p.got) == len(p.wants) {
		return true
	}
	return !p.retryAt.IsZero() && p.retryAt.After(p.deadline)
}

// askAll dispatches every want that has no answer yet to its leader.
func (p *poll) askAll(ctx context.Context) {
	begin := time.Now()
	type group struct {
		addr  string
		wants []Want
	}
	groups := map[int32]*group{}
	for _, w := range p.wants {
		at := place{w.Topic, w.Partition}
		if _, ok := p.got[at]; ok {
			continue
		}
		id, addr, err := p.f.c.leaderOf(ctx, w.Topic, w.Partition)
		if err != nil {
			p.failed(at, begin, err)
			continue
		}
		g := groups[id]
		if g == nil {
			g = &group{addr: addr}
			groups[id] = g
		}
		g.wants = append(g.wants, w)
	}
	for id, g := range groups {
		err := p.f.dispatch(ctx, id, g.addr, g.wants, p.min, p.start, time.Until(p.deadline))
		if err == nil {
			continue
		}
		for _, w := range g.wants {
			p.failed(place{w.Topic, w.Partition}, begin, err)
		}
	}
}

// take handles one answer.
func (p *poll) take(ctx context.Context, a answer) {
	l := a.link
	if p.f.links[a.broker] != l || l.sent == nil {
		return // given up before
	}
	wants := l.sent
	l.sent = nil
	if a.err != nil {
		p.lost(a.broker, l, wants, a.err)
		return
	}
	gots, news, again := decodeAnswer(wants, a.res, p.f.decompressor)
	if len(again) == 0 && !news && l.turn != p.start {
		p.askAll(ctx) // the answer to an earlier poll may be older than this call
		return
	}
	for at, err := range again {
		p.failed(at, time.Now(), err)
	}
	if len(again) > 0 && !news {
		return // the broker ended the wait early because of the errors: all of them are asked for again
	}
	for _, g := range gots {
		g.Asked = l.asked
		at := place{g.Topic, g.Partition}
		p.got[at] = g
		p.f.given(at)
	}
	p.done = p.done || news
}

// lost gives up a connection after a failure that concerns all of its partitions.
func (p *poll) lost(broker int32, l *link, wants []Want, err error) {
	p.f.drop(broker)
	since := time.Now()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		since = l.turn // it was waited for since then
	}
	for _, w := range wants {
		p.failed(place{w.Topic, w.Partition}, since, err)
	}
}

// failed notes that a partition could not be read, what began at since, and when to try again.
func (p *poll) failed(at place, since time.Time, err error) {
	f := p.f
	f.c.forget(at.topic)
	now := f.failing[at]
	if now == nil {
		now = &failing{since: time.Now()}
		f.failing[at] = now
		f.c.cfg.Logger.Debug("waiting for a partition", "topic", at.topic, "partition", at.partition, "cause", err)
	}
	f.c.cfg.health.note(&now.trouble, since, fmt.Sprintf("reading topic %q partition %d", at.topic, at.partition), err)
	age := time.Since(now.since)
	var final error
	switch {
	case isCode(err, kafka.UnknownTopicOrPartition) && age > unknownGrace:
		final = ErrUnknownTopic
	case !retriableDial(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		final = err
	case age > f.c.cfg.RetryFor:
		final = fmt.Errorf("giving up after %s: %w", f.c.cfg.RetryFor, err)
	}
	if final != nil {
		got := Got{Topic: at.topic, Partition: at.partition, High: -1, LastStable: -1, LogStart: -1}
		for _, w := range p.wants {
			if w.Topic == at.topic && w.Partition == at.partition {
				got.Next = w.Offset
			}
		}
		got.Err = got.fail(final)
		p.got[at] = got
		p.done = true
		f.given(at)
		return
	}
	if p.retryAt.IsZero() {
		p.retryAt = time.Now().Add(pause(p.retries))
		p.retries++
	}
}

func (p *poll) result() ([]Got, error) {
	list := make([]Got, 0, len(p.got))
	for _, w := range p.wants {
		if g, ok := p.got[place{w.Topic, w.Partition}]; ok {
			list = append(list, g)
		}
	}
	return list, nil
}
