package kafkalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	kgoplain "github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
)

// guarded is a broker with access control, and a client of a user who has no right yet.
type guarded struct {
	admin  *kgo.Client
	client *Client
}

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	cluster := startBroker(t, kfake.EnableACLs(), kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "a"), kfake.User("PLAIN", "bob", "b"), kfake.SeedTopics(1, "t"))
	admin, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.SASL(kgoplain.Auth{User: "admin", Pass: "a"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	client, err := Dial(t.Context(), Config{Brokers: cluster.ListenAddrs(), SASL: plain.Mechanism{Username: "bob", Password: "b"}, RetryFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &guarded{admin, client}
}

func (g *guarded) grant(t *testing.T, rights ...right) {
	t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	for _, r := range rights {
		req.Creations = append(req.Creations, kmsg.CreateACLsRequestCreation{
			ResourceType: kmsg.ACLResourceType(r.resource), ResourceName: r.name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
			Principal: "User:bob", Host: "*", Operation: kmsg.ACLOperation(r.operation), PermissionType: kmsg.ACLPermissionTypeAllow,
		})
	}
	if res, err := req.RequestWith(t.Context(), g.admin); err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
}

func (g *guarded) revoke(t *testing.T, r right) {
	t.Helper()
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Filters = append(req.Filters, kmsg.DeleteACLsRequestFilter{
		ResourceType: kmsg.ACLResourceType(r.resource), ResourceName: &r.name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Operation: kmsg.ACLOperation(r.operation), PermissionType: kmsg.ACLPermissionTypeAllow,
	})
	if res, err := req.RequestWith(t.Context(), g.admin); err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
}

// calls are what a client does with a topic, with the right that each needs.
func calls() map[string]struct {
	needs right
	do    func(ctx context.Context, c *Client) error
} {
	type call = struct {
		needs right
		do    func(ctx context.Context, c *Client) error
	}
	topic := func(o Operation) right { return right{o, ResourceTopic, "t"} }
	return map[string]call{
		"asking for partitions": {topic(Describe), func(ctx context.Context, c *Client) error { _, err := c.Partitions(ctx, "t"); return err }},
		"asking for offsets":    {topic(Describe), func(ctx context.Context, c *Client) error { _, err := c.Offsets(ctx, "t", 0); return err }},
		"asking for settings":   {topic(DescribeConfigs), func(ctx context.Context, c *Client) error { _, err := c.TopicConfig(ctx, "t"); return err }},
		"reading a range": {topic(Read), func(ctx context.Context, c *Client) error {
			return c.ReadRange(ctx, "t", 0, 0, 1, func(Record) error { return nil })
		}},
		"polling": {topic(Read), func(ctx context.Context, c *Client) error {
			f := c.NewFetcher()
			defer f.Close()
			for {
				all, err := f.Poll(ctx, []Fetch{{Topic: "t"}}, 1, time.Second)
				switch {
				case err != nil:
					return err
				case len(all) > 0:
					return all[0].Err
				}
			}
		}},
		"appending": {topic(Write), func(ctx context.Context, c *Client) error {
			p, err := c.NewProducer(ctx, "t", 0, "")
			if err == nil {
				defer p.Close()
				_, err = p.Append(ctx, []Message{{Value: []byte("a")}})
			}
			return err
		}},
		"fencing": {right{Write, ResourceTransactionalID, "tx"}, func(ctx context.Context, c *Client) error {
			p, err := c.NewProducer(ctx, "t", 0, "tx")
			if err == nil {
				defer p.Close()
				_, err = p.Fence(ctx)
			}
			return err
		}},
	}
}

// A right that a user has never had is missed at once, by name; one that was taken away is asked
// for again until it is back, and named meanwhile.
func TestARightThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	all := []right{
		{Describe, ResourceTopic, "t"}, {Read, ResourceTopic, "t"}, {Write, ResourceTopic, "t"}, {DescribeConfigs, ResourceTopic, "t"}, {Write, ResourceTransactionalID, "tx"},
	}
	for name, call := range calls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t)
			for _, r := range all {
				// Read and Write let a user see the topic, too.
				if r != call.needs && !(call.needs.operation == Describe && (r.operation == Read || r.operation == Write) && r.resource == ResourceTopic) {
					g.grant(t, r)
				}
			}
			var denied *DeniedError
			err := call.do(t.Context(), g.client)
			if !errors.As(err, &denied) || denied.Operation != call.needs.operation || denied.Resource != call.needs.resource || denied.Name != call.needs.name || !errors.Is(err, ErrForbidden) {
				t.Fatalf("without the right: %v", err)
			}
			if strings.Contains(err.Error(), "giving up") {
				t.Errorf("it was asked for again: %v", err)
			}

			g.grant(t, call.needs, right{Write, ResourceTopic, "t"})
			g.append(t)
			if err := call.do(t.Context(), g.client); err != nil {
				t.Fatalf("with the right: %v", err)
			}
			if call.needs.operation == Describe {
				g.revoke(t, right{Write, ResourceTopic, "t"})
			}
			g.revoke(t, call.needs)
			g.client.forget("t")
			ended := make(chan error, 1)
			go func() { ended <- call.do(context.WithoutCancel(t.Context()), g.client) }()
			await.That(t, 30*time.Second, "the trouble to be known", func() bool {
				select {
				case err := <-ended:
					t.Fatalf("the call ended without the right: %v", err)
				default:
				}
				for _, one := range g.client.Troubles() {
					if errors.As(one.Cause, &denied) {
						return true
					}
				}
				return false
			})
			g.grant(t, call.needs)
			if err := <-ended; err != nil {
				t.Errorf("with the right again: %v", err)
			}
		})
	}
}

// append writes a record as another user.
func (g *guarded) append(t *testing.T) {
	t.Helper()
	if err := g.admin.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}
