package integration

import (
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// nodesVariable, set to 1, runs the test on three nodes; with everyNode, each node has each fault.
const (
	nodesVariable = "TOLLGATE_NODES"
	everyNode     = "all"
)

// startNodes begins a campaign on three brokers.
func startNodes(t *testing.T) (*campaign, []*realkafka.Broker) {
	t.Helper()
	if set := os.Getenv(nodesVariable); set != "1" && set != everyNode {
		t.Skipf("three brokers take a minute or two: `.ci/run brokers`, or %s=1", nodesVariable)
	}
	c := &campaign{t: t, began: time.Now(), copies: 3}
	c.random = rand.New(rand.NewPCG(campaignSeed(t), 3)) // fixed seed: campaignSeed's
	c.binary = buildRunner(t)
	nodes, err := realkafka.StartCluster(t.Context(), 3, realkafka.Options{})
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			n.Kill() // a regular stop would wait for a majority
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	c.addr = realkafka.Addrs(nodes)
	return c, nodes
}

func (c *campaign) restart(nodes ...*realkafka.Broker) {
	c.t.Helper()
	for _, n := range nodes {
		must.Succeed(c.t, n.Restart(c.t.Context()))
	}
}

// Three brokers have copies of every topic. In the middle of turns, a node is stopped, killed, or
// killed before it has responded to writes; two nodes are killed; and a topic has too few replicas
// in sync. Turns continue if enough nodes are left; otherwise they wait, and the run logs the
// cause. The counts equal the reference's and an undisturbed run's.
func TestInvariant5LostNodesChangeNothing(t *testing.T) {
	c, nodes := startNodes(t)
	s := c.newSubject(subjectSettings{name: "campaign-nodes", broker: c.addr, window: 10 * time.Second, slots: 10},
		base)
	c.run(s)
	losses := []struct {
		fault string
		apply func(node *realkafka.Broker)
	}{
		{"node killed", func(node *realkafka.Broker) { node.Kill() }},
		{"node stopped", func(node *realkafka.Broker) {
			if err := node.Stop(); err != nil {
				t.Error(err)
			}
		}},
		{"node killed before it responds", func(node *realkafka.Broker) {
			node.Signal(syscall.SIGSTOP)
			c.pause(200*time.Millisecond, 2*time.Second)
			node.Kill()
		}},
	}
	// One node leads control, and each leads a part of the ledger. Unless every node has every
	// fault, it is random which node has which.
	order, rounds := c.random.Perm(len(nodes)), 1
	if os.Getenv(nodesVariable) == everyNode {
		rounds = len(nodes)
	}
	for i := range rounds * len(losses) {
		loss, node := losses[i%len(losses)], nodes[order[(i+i/len(losses))%len(nodes)]]
		c.befalls(s, loss.fault, func() bool {
			hit := c.open(s)
			loss.apply(node)
			c.moves(s, s.current, 3)
			c.restart(node)
			return hit
		})
	}
	c.befalls(s, "two nodes killed", func() bool {
		hit := c.open(s)
		nodes[0].Kill()
		nodes[1].Kill()
		time.Sleep(3 * time.Second)
		before := s.watch.now().settled
		time.Sleep(4 * time.Second)
		if now := s.watch.now().settled; now > before {
			c.complain(s.current, "%d turns were settled with one node of three", now-before)
		}
		// Each of the two needs the other one to start.
		failed := make(chan error, 1)
		go func() { failed <- nodes[0].Restart(t.Context()) }()
		c.restart(nodes[1])
		must.Succeed(t, <-failed)
		return hit
	})
	c.befalls(s, "too few copies", func() bool {
		hit := c.open(s)
		ledger := s.config.Outputs.Ledger
		alterTopic(t, nodes[0].Addr(), ledger, map[string]string{"min.insync.replicas": "3"})
		before := len(s.current.stderr.String())
		nodes[2].Kill()
		logged := func(text string) bool { return strings.Contains(s.current.stderr.String()[before:], text) }
		await.That(t, 2*time.Minute, "the run warns of a standstill", func() bool {
			return logged("no progress for") || !s.current.alive()
		})
		if !logged("replicas") {
			c.complain(s.current, "the warning does not name too few replicas")
		}
		c.restart(nodes[2])
		c.moves(s, s.current, 2)
		alterTopic(t, nodes[0].Addr(), ledger, map[string]string{"min.insync.replicas": "2"})
		return hit
	})
	c.faultNow = "the last run"
	row := subjectRow{name: s.settings.name}
	c.finish(s, &row)
	c.rows = append(c.rows, row)
	c.table()
}
