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

// nodesVariable set to 1 runs the tests on three nodes; with everyNode, each node meets each fault.
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
	if err := realkafka.Missing(); err != nil {
		unavailable(t, err)
	}
	c.binary = buildRunner(t)
	nodes, err := realkafka.StartCluster(t.Context(), 3, realkafka.Options{})
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			n.Kill() // the last ones would wait for a majority
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

// Three brokers, with every topic on each: a node is lost in the middle of turns, in good order, by
// kill −9, and while it owes the answers to what it may have written; two nodes are lost; and fewer
// copies can be written than a topic asks for. Turns go on where a node is left over, wait and say
// so where none is, and what comes out is what the reference says and what an undisturbed run
// publishes.
func TestInvariant5LostNodesChangeNothing(t *testing.T) {
	c, nodes := startNodes(t)
	s := c.newSubject(subjectSettings{name: "campaign-nodes", events: "campaign-nodes-events", broker: c.addr,
		window: 10 * time.Second, slots: 10}, base)
	c.run(s)
	losses := []struct {
		fault string
		of    func(node *realkafka.Broker)
	}{
		{"node killed", func(node *realkafka.Broker) { node.Kill() }},
		{"node stopped", func(node *realkafka.Broker) {
			if err := node.Stop(); err != nil {
				t.Error(err)
			}
		}},
		{"node killed while it owes answers", func(node *realkafka.Broker) {
			node.Signal(syscall.SIGSTOP)
			c.pause(200*time.Millisecond, 2*time.Second)
			node.Kill()
		}},
	}
	// One of them leads control, and each leads some of the ledger: which one meets what is drawn,
	// where not each is to meet everything.
	order, rounds := c.random.Perm(len(nodes)), 1
	if os.Getenv(nodesVariable) == everyNode {
		rounds = len(nodes)
	}
	for i := range rounds * len(losses) {
		loss, node := losses[i%len(losses)], nodes[order[(i+i/len(losses))%len(nodes)]]
		c.befalls(s, loss.fault, func() bool {
			hit := c.open(s)
			loss.of(node)
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
		// Each needs the other one to begin.
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
		said := func() string { return s.current.stderr.String()[before:] }
		await.That(t, 2*time.Minute, "the run says that nothing moves", func() bool {
			return strings.Contains(said(), "no progress for") || !s.current.alive()
		})
		if !strings.Contains(said(), "replicas") {
			c.complain(s.current, "the run does not say that there are too few replicas")
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
