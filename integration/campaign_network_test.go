package integration

import (
	"syscall"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// inTrouble waits while the network is bad, and sometimes replaces the run meanwhile.
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
	if c.oneIn(3) { // while a run starts
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

// brokerDown kills or stops the broker and makes the proxy refuse connections.
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
	case 1: // a run is starting meanwhile
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

// startWithoutBroker starts a run while the broker is away: it must wait, or end with that error.
func (c *campaign) startWithoutBroker(s *subject) bool {
	hit := c.lose(s)
	c.brokerDown(c.oneIn(2))
	p := c.start(s)
	c.pause(time.Second, 3*time.Second)
	c.brokerUp()
	c.beganWithoutBroker(s, p)
	return hit
}

// beganWithoutBroker checks that a run whose broker was away at the start continues, or has ended
// with that error.
func (c *campaign) beganWithoutBroker(s *subject, p *proc) {
	c.t.Helper()
	settled := s.watch.now().settled
	for began := time.Now(); p.alive() && s.watch.now().settled == settled && time.Since(began) < goesOnWithin; {
		time.Sleep(10 * time.Millisecond)
	}
	if p.alive() {
		s.current = p // befalls checks its progress
		return
	}
	if p.code() != 1 || !p.logged("refused", "unreachable", "no broker", "not reach", "no connection") ||
		p.logged("SASL", "operation was canceled") {
		c.complain(p, "no broker responded while the run started: it should wait or name that error, and nothing else")
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
		c.complain(p, "without a broker, the run did not end within %v of SIGTERM", endsAloneWithin)
	}
	s.current = nil
	c.brokerUp()
	return hit
}
