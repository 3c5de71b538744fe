package kafkalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// A denied operation fails at once, as ErrForbidden, whatever it is.
func TestADeniedOperationIsForbidden(t *testing.T) {
	t.Parallel()
	cluster := startBroker(t, kfake.EnableACLs(), kfake.EnableSASL(), kfake.SeedTopics(1, "t"),
		kfake.SeedTopics(1, "hidden"),
		kfake.Superuser("PLAIN", "admin", "a"), kfake.User("PLAIN", "bob", "b", kfake.ACL{
			Resource: kmsg.ACLResourceTypeTopic, Name: "t", Pattern: kmsg.ACLResourcePatternTypeLiteral,
			Operation: kmsg.ACLOperationDescribe, Allow: true,
		}))
	c := must.Have(Dial(t.Context(), Config{Brokers: cluster.ListenAddrs(), SASL: plain.Mechanism{Username: "bob",
		Password: "b"}, RetryFor: time.Minute}))
	defer c.Close()
	must.Have(c.Offsets(t.Context(), "t", 0))
	for name, call := range map[string]func() error{
		"asking for the partitions": func() error { _, err := c.Partitions(t.Context(), "hidden"); return err },
		"asking for the settings":   func() error { _, err := c.TopicConfig(t.Context(), "t"); return err },
		"reading": func() error {
			return c.ReadRange(t.Context(), "t", 0, 0, 1, func(Record) error { return nil })
		},
		"appending": func() error {
			_, err := (&Producer{c: c, topic: "t", life: c.life}).Append(t.Context(), messages("a"))
			return err
		},
		"requesting a producer id": func() error { _, err := c.NewProducer(t.Context(), "t", 0, "tx"); return err },
	} {
		if err := call(); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), name) ||
			strings.Contains(err.Error(), "giving up") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
