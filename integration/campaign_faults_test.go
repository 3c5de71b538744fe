package integration

import (
	"slices"
	"syscall"
	"time"
)

// faultKind is a kind of fault.
type faultKind struct {
	name   string
	weight int                            // how often it is drawn
	do     func(*campaign, *subject) bool // applies it and reports whether a turn was open; current may be nil then
}

// changeFault is not in faultKinds: only one deployment is changed, and the others are compared
// with undisturbed runs.
var changeFault = faultKind{"change", 0, (*campaign).change}

// faultKinds gives low weights to faults that take long or need one particular moment.
var faultKinds = []faultKind{
	{"kill", 16, (*campaign).kill},
	{"drain", 5, (*campaign).drain},
	{"zombie", 7, (*campaign).zombie},
	{"twins", 5, (*campaign).twins},
	{"slow older start", 4, (*campaign).slowOlder},
	{"network frozen", 4, (*campaign).frozen},
	{"network slow", 4, (*campaign).slow},
	{"network cut", 6, (*campaign).cut},
	{"broker killed", 2, (*campaign).brokerKilled},
	{"broker stopped", 2, (*campaign).brokerStopped},
	{"start without broker", 1, (*campaign).startWithoutBroker},
	{"SIGTERM without broker", 1, (*campaign).termWithoutBroker},
}

// Limits of waits. A longer wait is a failure.
const (
	goesOnWithin = 90 * time.Second
	endsWithin   = 40 * time.Second
	// A run without a broker ends within ten seconds of SIGTERM, and later on a busy machine.
	endsAloneWithin = 20 * time.Second
)

func (c *campaign) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.random.Int64N(int64(most-least)))
}

// pause sleeps for a random time, to vary the moments of faults.
func (c *campaign) pause(least, most time.Duration) { time.Sleep(c.between(least, most)) }

func (c *campaign) oneIn(n int) bool { return c.random.IntN(n) == 0 }

// start launches a run beside the current one.
func (c *campaign) start(s *subject, args ...string) *proc {
	c.t.Helper()
	if c.broker != nil && !c.down { // an EPOCH that is seen late would look like the new run's
		c.seesAll(s)
	}
	from := s.watch.now()
	p := launch(c.t, s.named("run"), c.binary, s.dir, slices.Concat([]string{"run", "--log-format", "text", "--config",
		s.file, "--format", "json"}, s.args, args)...)
	p.from = from
	s.runs = append(s.runs, p)
	return p
}

// run launches a run that should own the deployment.
func (c *campaign) run(s *subject) { s.current = c.start(s) }

// open reports whether a fault at this moment hits a turn.
func (c *campaign) open(s *subject) bool { return s.watch.now().open() }

// lose kills the current run and reports whether a turn was open.
func (c *campaign) lose(s *subject) bool {
	hit := c.open(s)
	if !s.current.alive() {
		c.complain(s.current, "the run ended without a cause")
	}
	s.current.kill()
	s.current = nil
	return hit
}

// moves waits until p owns the deployment and so many more turns are settled. A run that ends or
// hangs is a failure; another one then continues the campaign.
func (c *campaign) moves(s *subject, p *proc, turns int) {
	c.t.Helper()
	target := s.watch.now().settled + uint64(turns)
	began, failures := time.Now(), 0
	for s.watch.now().settled < target || s.watch.now().epochs <= p.from.epochs {
		switch {
		case !p.alive():
			c.complain(p, "the run ended without a cause")
		case time.Since(began) > goesOnWithin:
			st := s.watch.now()
			p.stacks()
			c.complain(p, "no turn was settled for %v: %d are settled, %d closed", goesOnWithin, st.settled, st.closed)
		default:
			time.Sleep(3 * time.Millisecond)
			continue
		}
		if failures++; failures > 3 {
			c.t.Fatalf("%s: the deployment does not continue", c.faultNow)
		}
		c.run(s)
		p, began = s.current, time.Now()
	}
}

// must runs a command that must succeed.
func (c *campaign) must(s *subject, name string, args ...string) *proc {
	c.t.Helper()
	p := launch(c.t, s.named(name), c.binary, s.dir, args...)
	if !p.ends(endsWithin) || p.code() != 0 {
		c.t.Fatalf("%s: %v", s.settings.name, p)
	}
	return p
}

// isSuperseded waits for the end of a run that another run has superseded.
func (c *campaign) isSuperseded(p *proc) {
	c.t.Helper()
	switch {
	case !p.ends(endsWithin):
		p.stacks()
		c.complain(p, "the run continues beside a newer one")
	case !p.superseded():
		c.complain(p, "the run was superseded, but ended with another error")
	}
}

// survivor waits until one of two runs is superseded; the other one owns the deployment.
func (c *campaign) survivor(s *subject, a, b *proc) {
	c.t.Helper()
	select {
	case <-a.gone:
		c.isSuperseded(a)
		s.current = b
	case <-b.gone:
		c.isSuperseded(b)
		s.current = a
	case <-time.After(endsWithin):
		a.stacks()
		c.complain(a, "two runs continue at once, and neither was superseded")
		s.current = b
	}
}

// kill kills the run (−9), and sometimes the next ones while they start.
func (c *campaign) kill(s *subject) bool {
	hit := c.lose(s)
	for c.oneIn(4) {
		c.run(s)
		c.pause(0, 1200*time.Millisecond)
		hit = c.lose(s) || hit
	}
	return hit
}

// drain sends SIGTERM, sometimes twice, sometimes while the next run starts.
func (c *campaign) drain(s *subject) bool {
	hit := c.open(s)
	if c.oneIn(5) {
		p := s.current
		p.signal(syscall.SIGTERM)
		c.pause(0, 20*time.Millisecond)
		c.terminated(s, p)
		return hit
	}
	c.drained(s)
	for c.oneIn(3) {
		c.run(s)
		c.pause(0, 500*time.Millisecond)
		c.terminated(s, s.current)
	}
	return hit
}

// terminated sends SIGTERM to a run that may not have begun or may already have got one. The run
// must end, drained or at once, without another error.
func (c *campaign) terminated(s *subject, p *proc) {
	c.t.Helper()
	p.signal(syscall.SIGTERM)
	switch {
	case !p.ends(endsAloneWithin):
		p.stacks()
		c.complain(p, "the run did not end within %v of SIGTERM", endsAloneWithin)
	case p.code() == 0 || p.code() == -1 || p.logged("interrupted", "canceled", "signal"):
	default:
		c.complain(p, "the run ended with another error than SIGTERM")
	}
	s.current = nil
}

// drained drains the current run.
func (c *campaign) drained(s *subject) {
	c.t.Helper()
	p := s.current
	s.current = nil
	p.signal(syscall.SIGTERM)
	switch {
	case !p.ends(endsWithin):
		p.stacks()
		c.complain(p, "the run does not drain")
	case p.code() != 0 || !p.logged("drained"):
		c.complain(p, "the run ended without draining")
	}
}

// zombie pauses a run until another one has superseded it.
func (c *campaign) zombie(s *subject) bool {
	hit := c.open(s)
	zombies := []*proc{s.current}
	s.current.signal(syscall.SIGSTOP)
	c.run(s)
	if c.oneIn(4) { // pause the superseding run, too
		c.moves(s, s.current, 1)
		c.pause(0, 100*time.Millisecond)
		s.current.signal(syscall.SIGSTOP)
		zombies = append(zombies, s.current)
		c.run(s)
	}
	if c.oneIn(3) { // wait until the ledger has overwritten its state
		c.moves(s, s.current, 20+c.random.IntN(40))
	}
	c.moves(s, s.current, 1+c.random.IntN(6))
	if c.oneIn(4) {
		c.proxy.slow(c.between(5*time.Millisecond, 50*time.Millisecond), 1_500_000)
		defer c.proxy.heal()
	}
	for _, z := range zombies {
		z.signal(syscall.SIGCONT)
	}
	for _, z := range zombies {
		c.isSuperseded(z)
	}
	return hit
}

// twins starts a second run beside a running one, or two at once.
func (c *campaign) twins(s *subject) bool {
	if c.oneIn(4) {
		c.proxy.slow(c.between(5*time.Millisecond, 50*time.Millisecond), 1_500_000)
		defer c.proxy.heal()
	}
	if c.oneIn(2) {
		hit := c.open(s)
		older := s.current
		c.run(s)
		c.isSuperseded(older)
		return hit
	}
	hit := c.lose(s)
	a := c.start(s)
	c.pause(0, 80*time.Millisecond)
	c.survivor(s, a, c.start(s))
	return hit
}

// slowOlder pauses a starting run until a newer run has settled turns. If the older run had already
// written to control, it must be superseded; otherwise either of the two may continue.
func (c *campaign) slowOlder(s *subject) bool {
	hit := c.lose(s)
	older := c.start(s)
	limit, wait := c.between(50*time.Millisecond, 800*time.Millisecond), c.oneIn(2)
	if wait {
		limit = endsWithin
	}
	for began := time.Now(); older.alive() && time.Since(began) < limit &&
		s.watch.now().begun() == older.from.begun(); {
		time.Sleep(time.Millisecond)
	}
	older.signal(syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond) // its earlier writes arrive
	c.seesAll(s)
	known := s.watch.now().begun() > older.from.begun()
	c.run(s)
	newer := s.current
	c.moves(s, newer, 1+c.random.IntN(4))
	older.signal(syscall.SIGCONT)
	if known {
		c.isSuperseded(older)
	} else {
		c.survivor(s, older, newer)
	}
	return hit
}

// change drains the run and changes the configuration, sometimes after a first attempt was killed.
func (c *campaign) change(s *subject) bool {
	c.t.Helper()
	hit := c.open(s)
	c.drained(s)
	before := generation{s.config, s.compiled}
	s.settings.changes++
	s.write()
	args := []string{"change", "--config", s.file, "--generate-keys", "--now", "--by", "campaign", "--why", "a fault"}
	if c.oneIn(2) {
		p := launch(c.t, s.named("change"), c.binary, s.dir, args...)
		c.pause(0, 900*time.Millisecond)
		p.kill()
	}
	p := launch(c.t, s.named("change again"), c.binary, s.dir, args...)
	if !p.ends(endsWithin) || p.code() != 0 {
		c.t.Fatalf("%s: the change failed: %v", c.faultNow, p)
	}
	s.past = append(s.past, before)
	s.attachTo(c.addr)
	return hit
}
