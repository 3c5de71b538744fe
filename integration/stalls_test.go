package integration

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// talkative runs the deployment without an end in a process that logs.
func (d *deployment) talkative() *child {
	d.t.Helper()
	j := d.job()
	j.Bounded, j.Logs = false, true
	return startRunner(d.t, j)
}

// tells waits until the process has logged all of these.
func (c *child) tells(t testing.TB, texts ...string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		missing := slices.ContainsFunc(texts, func(text string) bool { return !c.stderr.has(text) })
		if !missing {
			return
		}
		select {
		case <-c.exit:
			t.Fatalf("the run ended with %v before it told all of %q; stderr:\n%s", c.end, texts, c.stderr.tail())
		case <-timeout:
			t.Fatalf("the run did not tell all of %q; stderr:\n%s", texts, c.stderr.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *safeBuffer) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.b.Bytes(), []byte(text))
}

// A partition that is silent, and a dead-letter topic that was deleted, are told while the run goes
// on.
func TestRuleASilentPartitionAndALostDeadLetterTopicAreTold(t *testing.T) {
	long.Test(t)
	t.Parallel()
	d := newDeployment(t, startBrokerProcess(t), "silence", 2)
	d.append(0, []arrival{at("a", "p00", 5*time.Second), at("b", "p00", 45*time.Second)})
	d.append(1, []arrival{at("a", "p00", 16*time.Second)}) // of which 5 s are lateness
	c := d.talkative()
	c.settled(t, 1)
	deleteTopic(t, d.config.Kafka.Brokers[0], d.config.Outputs.DeadLetter)
	c.tells(t, "partition 1 of topic silence-events is silent, so the windows that ended at "+base.Add(20*time.Second).Format(time.RFC3339)+" wait until ",
		"the dead-letter topic silence-dead does not exist any more")
	d.append(1, []arrival{at("c", "p00", 46*time.Second)})
	c.settled(t, 3)
	c.drain()
	if end := c.last(t); end.Error != "" || end.Done.Settled < 3 {
		t.Errorf("the run ended with %v", end)
	}
}

// An open transaction upstream is told, and that it is over.
func TestRuleAnOpenTransactionIsTold(t *testing.T) {
	needReal(t)
	t.Parallel()
	d := newDeployment(t, startBroker(t), "told", 2)
	u := d.upstream("slow")
	u.begin()
	u.write(1, at("undecided", "p00", 5*time.Second))
	for p := range int32(2) {
		d.append(p, []arrival{at("a", "p00", 5*time.Second), at("b", "p00", 45*time.Second)})
	}
	c := d.talkative()
	c.tells(t, "partition 1 of topic told-events is blocked by an open transaction")
	u.end(kgo.TryCommit)
	c.tells(t, "partition 1 of topic told-events is no longer waited for")
	c.settled(t, 3)
	c.drain()
	if end := c.last(t); end.Error != "" {
		t.Errorf("the run ended with %v", end)
	}
}

// A broker that was killed or has frozen is told; a drain then ends soon, and the next run has lost
// nothing.
func TestRuleABrokerThatIsGoneIsToldAndADrainEnds(t *testing.T) {
	long.Test(t)
	t.Parallel()
	for _, how := range []string{"killed", "frozen"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			broker := startOwnBroker(t)
			process, embedded := broker.(*brokerProcess)
			if how == "frozen" && !embedded {
				t.Skip("only the embedded broker's process is known")
			}
			d := newDeployment(t, broker.address(), "gone", 1)
			arrivals := calm(77).arrivals()
			d.append(0, arrivals)
			c := d.talkative()
			c.settled(t, 2)
			if how == "frozen" {
				_ = process.cmd.Process.Signal(syscall.SIGSTOP)
			} else {
				broker.kill()
			}
			c.tells(t, "Kafka has not answered properly since ")
			begin := time.Now()
			c.drain()
			end := c.last(t)
			// 7 s by design at the most; the rest is for a machine that is busy. Retries would last
			// for 2 minutes.
			if took := time.Since(begin); took > 25*time.Second || end.Kind != "no-broker" || !strings.Contains(end.Error, "the next run repeats") {
				t.Errorf("after %v: %v", took, end)
			}
			if how == "frozen" {
				_ = process.cmd.Process.Signal(syscall.SIGCONT)
			} else {
				broker.restart(t)
			}
			d = d.again()
			d.run()
			d.verify()
		})
	}
}

// again connects anew to a deployment whose broker was away.
func (d *deployment) again() *deployment {
	d.t.Helper()
	fresh := attach(d.t, d.config)
	fresh.partitions, fresh.clocked, fresh.adjust = d.partitions, d.clocked, d.adjust
	return fresh
}

func deleteTopic(t testing.TB, broker, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames = []string{topic}
	one := kmsg.NewDeleteTopicsRequestTopic()
	one.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, one)
	response, err := request.RequestWith(ctx, adminClient(t, broker))
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("deleting topic %s: %v", topic, err)
	}
}

// A turn whose work takes longer than the stall limit, in every epoch anew, settles all the same:
// each attempt may take twice as long as the one before.
func TestATurnThatIsSlowerThanTheStallLimitSettles(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	d := newDeployment(t, startBroker(t), "slow-turn", 1, tight)
	d.append(0, []arrival{at("a", "p00", 5*time.Second), at("b", "p00", 15*time.Second)})
	var epochs atomic.Int64
	d.run(func(o *runOptions) {
		o.StallLimit = limit
		o.Hooks.At = func(point string, _ int) error {
			switch point {
			case crashpoint.EpochWritten:
				epochs.Add(1)
			case crashpoint.SettledWriting:
				time.Sleep(5 * limit)
			}
			return nil
		}
	})
	d.verify()
	if n := epochs.Load(); n < 2 {
		t.Errorf("%d epochs: no turn was slower than the limit", n)
	}
}
