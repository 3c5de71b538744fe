package integration

import (
	"syscall"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// inTrouble is a time with a bad network or none, in which now and then the run dies and another
// one is started.
func (c *campaign) inTrouble(s *subject, least, most time.Duration) {
	if c.oneIn(3) {
		c.pause(0, most-least)
		c.lose(s)
		c.run(s)
	}
	c.pause(least, most)
}

func (c *campaign) frozen(s *subject) bool {
	hit := c.open(s)
	c.proxy.freeze()
	c.inTrouble(s, time.Second, 4*time.Second)
	c.proxy.heal()
	return hit
}

func (c *campaign) slow(s *subject) bool {
	hit := c.open(s)
	c.proxy.slow(c.between(5*time.Millisecond, 80*time.Millisecond), 50_000+c.random.IntN(300_000))
	c.inTrouble(s, 2*time.Second, 4*time.Second)
	c.proxy.heal()
	return hit
}

func (c *campaign) cut(s *subject) bool {
	hit := false
	if c.oneIn(3) { // from the start on
		c.lose(s)
		c.run(s)
		c.pause(0, 300*time.Millisecond)
	}
	for range 1 + c.random.IntN(4) {
		hit = c.open(s) || hit
		c.proxy.cut()
		c.pause(20*time.Millisecond, 500*time.Millisecond)
	}
	return hit
}

// brokerDown ends the broker, one way or the other; no process listens then.
func (c *campaign) brokerDown(killed bool) {
	c.t.Helper()
	c.down = true
	if killed {
		c.broker.Kill()
	} else if err := c.broker.Stop(); err != nil {
		c.t.Error(err)
	}
	c.proxy.down()
}

func (c *campaign) brokerUp() {
	c.t.Helper()
	must.Succeed(c.t, c.broker.Restart(c.t.Context()))
	c.down = false
	must.Succeed(c.t, c.proxy.up())
}

func (c *campaign) brokerKilled(s *subject) bool  { return c.withoutBroker(s, true) }
func (c *campaign) brokerStopped(s *subject) bool { return c.withoutBroker(s, false) }

func (c *campaign) withoutBroker(s *subject, killed bool) bool {
	hit := c.open(s)
	switch c.random.IntN(4) {
	case 0: // the run is lost, too
		c.brokerDown(killed)
		c.lose(s)
		c.brokerUp()
	case 1: // the broker goes away from a run that starts
		c.lose(s)
		p := c.start(s)
		c.pause(0, 400*time.Millisecond)
		c.brokerDown(killed)
		c.brokerUp()
		c.beganWithoutBroker(s, p)
	default:
		c.brokerDown(killed)
		c.brokerUp()
	}
	return hit
}

// A run that is started while no broker responds waits for one, or ends with that error.
func (c *campaign) startWithoutBroker(s *subject) bool {
	hit := c.lose(s)
	c.brokerDown(c.oneIn(2))
	p := c.start(s)
	c.pause(time.Second, 3*time.Second)
	c.brokerUp()
	c.beganWithoutBroker(s, p)
	return hit
}

// beganWithoutBroker looks at a run from whose start the broker was away for a while: it goes on,
// or has said why not.
func (c *campaign) beganWithoutBroker(s *subject, p *proc) {
	c.t.Helper()
	settled := s.watch.now().settled
	for began := time.Now(); p.alive() && s.watch.now().settled == settled && time.Since(began) < goesOnWithin; {
		time.Sleep(10 * time.Millisecond) // the outcome is checked below
	}
	if p.alive() {
		s.current = p // befall sees whether it goes on
		return
	}
	if p.code() != 1 || !p.said("refused", "unreachable", "no broker", "not reach", "no connection") ||
		p.said("SASL", "operation was canceled") {
		c.complain(p, "no broker answered while the run started: it should wait or say so, and nothing else")
	}
}

func (c *campaign) termWithoutBroker(s *subject) bool {
	hit := c.open(s)
	p := s.current
	c.brokerDown(true)
	c.pause(100*time.Millisecond, 1500*time.Millisecond)
	p.signal(syscall.SIGTERM)
	if !p.ends(endsAloneWithin) {
		p.stacks()
		c.complain(p, "the run was told to end while no broker answers, and did not within %v", endsAloneWithin)
	}
	s.current = nil
	c.brokerUp()
	return hit
}
