package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// initAgain runs init on a deployment that goes on: it changes nothing and says so, also on a slow
// network.
func (c *campaign) initAgain(s *subject) bool {
	hit := c.open(s)
	if c.oneIn(2) {
		c.proxy.slow(30*time.Millisecond, 1_500_000)
		defer c.proxy.heal()
	}
	p := launch(c.t, s.named("init"), c.binary, s.dir, "init", "--config", s.file, "--create-topics", "--generate-keys")
	switch {
	case !p.ends(endsWithin):
		p.stacks()
		c.complain(p, "init hangs")
	case p.code() != 0 || !strings.Contains(string(p.printed(c.t)), "initialised already"):
		c.complain(p, "init ran again: it should have changed nothing and said so")
	}
	return hit
}

// twoInits begins another deployment twice at once, with two promises, on a network that makes them
// overlap. One init succeeds; its promise is the one in force, and a run with the other is refused.
// No turn is hit by it.
func (c *campaign) twoInits(s *subject) bool {
	c.others++
	settings := s.settings
	settings.name, settings.appendTimes, settings.changes = fmt.Sprintf("campaign-rivals-%d", c.others), false, 0
	settings.events = settings.name + "-events"
	createTopic(c.t, c.addr, settings.events, 1, nil)
	dir := c.t.TempDir()
	var files [2]string
	for i, epsilon := range []string{"epsilon: 400", "epsilon: 200"} {
		files[i] = filepath.Join(dir, fmt.Sprintf("rival-%d.yaml", i))
		if err := os.WriteFile(files[i], []byte(strings.Replace(settings.yaml(), "epsilon: 400", epsilon, 1)), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	command := func(what string, rival int, args ...string) *proc {
		return launch(c.t, fmt.Sprintf("%s of rival %d, %d", what, rival, c.others), c.binary, dir, append(args, "--config", files[rival])...)
	}
	// Keys and topics are there, so that the two do nothing but write their HEADERs.
	if p := command("keys", 0, "init", "--generate-keys"); !p.ends(endsWithin) || p.code() != 1 {
		c.complain(p, "init without topics should have failed")
	}
	d := attach(c.t, (&subject{file: files[0], deployment: &deployment{t: c.t}}).load(c.addr))
	c.makeTopics(d)
	c.proxy.slow(c.between(10*time.Millisecond, 40*time.Millisecond), 0)
	rivals := []*proc{command("init", 0, "init"), command("init", 1, "init")}
	for _, p := range rivals {
		if !p.ends(endsWithin) {
			p.stacks()
			c.complain(p, "init hangs")
		}
	}
	c.proxy.heal()
	winner := 0
	if rivals[1].code() == 0 {
		winner = 1
	}
	loser := rivals[1-winner]
	if rivals[winner].code() != 0 || loser.code() != 3 || !loser.said("initialised already") {
		c.complain(loser, "two inits at once: one should succeed, and the other say that the deployment is initialised already\n%v", rivals[winner])
		return false
	}
	if p := command("run", winner, "run", "--until-end"); !p.ends(endsWithin) || p.code() != 0 {
		p.stacks()
		c.complain(p, "a run with the promise of the init that succeeded should find nothing to do and end")
	}
	if p := command("run", 1-winner, "run", "--until-end"); !p.ends(endsWithin) || p.code() == 0 {
		p.stacks()
		c.complain(p, "a run with the promise of the init that failed should be refused")
	}
	return false
}
