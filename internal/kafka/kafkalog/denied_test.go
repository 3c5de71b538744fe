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

type right struct {
	operation kmsg.ACLOperation
	resource  kmsg.ACLResourceType
	name      string
}

func (g *guarded) grant(t *testing.T, r right) {
	t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = append(req.Creations, kmsg.CreateACLsRequestCreation{
		ResourceType: r.resource, ResourceName: r.name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: "User:bob", Host: "*", Operation: r.operation, PermissionType: kmsg.ACLPermissionTypeAllow,
	})
	if res, err := req.RequestWith(t.Context(), g.admin); err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
}

// A right that is missing is named at once.
func TestARightThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	topic := func(o kmsg.ACLOperation) right { return right{o, kmsg.ACLResourceTypeTopic, "t"} }
	as := right{kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, "tx"}
	see, read, write, settings := topic(kmsg.ACLOperationDescribe), topic(kmsg.ACLOperationRead), topic(kmsg.ACLOperationWrite), topic(kmsg.ACLOperationDescribeConfigs)
	produce := func(ctx context.Context, c *Client, txn string) error {
		p, err := c.NewProducer(ctx, "t", 0, txn)
		if err == nil && txn != "" {
			_, err = p.Fence(ctx)
		}
		if err == nil {
			_, err = p.Append(ctx, messages("a"))
		}
		return err
	}
	for name, call := range map[string]struct {
		lacks, has []right
		names      DeniedError
		do         func(ctx context.Context, c *Client) error
	}{
		"asking for partitions": {[]right{see}, []right{settings, as}, DeniedError{Operation: Describe, Resource: "topic", Name: "t"},
			func(ctx context.Context, c *Client) error { _, err := c.Partitions(ctx, "t"); return err }},
		"asking for offsets": {[]right{see}, []right{settings, as}, DeniedError{Operation: Describe, Resource: "topic", Name: "t"},
			func(ctx context.Context, c *Client) error { _, err := c.Offsets(ctx, "t", 0); return err }},
		"asking for settings": {[]right{settings}, []right{see, read, write, as}, DeniedError{Operation: DescribeConfigs, Resource: "topic", Name: "t"},
			func(ctx context.Context, c *Client) error { _, err := c.TopicConfig(ctx, "t"); return err }},
		"reading": {[]right{read}, []right{see, settings, write, as}, DeniedError{Operation: Read, Resource: "topic", Name: "t"}, func(ctx context.Context, c *Client) error {
			return c.ReadRange(ctx, "t", 0, 0, 1, func(Record) error { return nil })
		}},
		"appending": {[]right{write}, []right{see, settings, read, as}, DeniedError{Operation: Write, Resource: "topic", Name: "t"},
			func(ctx context.Context, c *Client) error { return produce(ctx, c, "") }},
		"fencing": {[]right{as}, []right{see, settings, read, write}, DeniedError{Operation: Write, Resource: "transactional id", Name: "tx"},
			func(ctx context.Context, c *Client) error { return produce(ctx, c, "tx") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t)
			for _, r := range call.has {
				g.grant(t, r)
			}
			var denied *DeniedError
			err := call.do(t.Context(), g.client)
			if !errors.As(err, &denied) || !errors.Is(err, ErrForbidden) || strings.Contains(err.Error(), "giving up") {
				t.Fatalf("without the right: %v", err)
			}
			if denied.code = 0; *denied != call.names {
				t.Errorf("without the right: %v, want %v", denied, call.names)
			}
			for _, r := range call.lacks {
				g.grant(t, r)
			}
			if err := g.admin.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if err := call.do(t.Context(), g.client); err != nil {
				t.Errorf("with the right: %v", err)
			}
		})
	}
}
