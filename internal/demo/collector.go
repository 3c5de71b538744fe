package demo

import (
	"cmp"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// collector puts together what is known of turns from two sides, the releases
// as they are published and the settlements that say how many there are, and
// hands out whole turns in order. Safe for concurrent use.
type collector struct {
	mu       sync.Mutex
	out      func(Turn) error
	releases map[uint64][]schemas.Release
	expected map[uint64]int
	next     uint64 // turn to be handed out next
	err      error  // of out: nothing is handed out behind it
}

func newCollector(out func(Turn) error) *collector {
	return &collector{
		out: out, next: 1,
		releases: map[uint64][]schemas.Release{}, expected: map[uint64]int{},
	}
}

// release takes one published release.
func (c *collector) release(r schemas.Release) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Turn >= c.next {
		c.releases[r.Turn] = append(c.releases[r.Turn], r)
		c.advance()
	}
	return c.err
}

// settled takes one settlement.
func (c *collector) settled(s pipeline.Settlement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Turn >= c.next {
		c.expected[s.Turn] = s.Keys
		c.advance()
	}
}

func (c *collector) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// advance hands out the turns that are complete.
func (c *collector) advance() {
	for c.err == nil {
		expected, ok := c.expected[c.next]
		if !ok || len(c.releases[c.next]) < expected {
			return
		}
		c.hand(c.releases[c.next])
	}
}

func (c *collector) hand(releases []schemas.Release) {
	order(releases)
	delete(c.releases, c.next)
	delete(c.expected, c.next)
	c.err = c.out(Turn{Number: c.next, Releases: releases})
	c.next++
}

// finish hands out what is left of the settled turns from all releases there
// are: the follower may have been behind.
func (c *collector) finish(all []schemas.Release, settled uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.releases)
	for _, r := range all {
		if r.Turn >= c.next && r.Turn <= settled {
			c.releases[r.Turn] = append(c.releases[r.Turn], r)
		}
	}
	for c.err == nil && c.next <= settled {
		c.hand(c.releases[c.next])
	}
	return c.err
}

func order(releases []schemas.Release) {
	slices.SortFunc(releases, func(a, b schemas.Release) int {
		return cmp.Or(cmp.Compare(a.WindowEnd, b.WindowEnd), cmp.Compare(a.Metric, b.Metric),
			cmp.Compare(a.WindowStart, b.WindowStart), cmp.Compare(a.Key, b.Key))
	})
}
