package reading

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// A right to write dead letters that is missing ends nothing at once when the first one comes: it
// is named while it is asked for, and the dead letter is written once it is granted.
func TestTheFirstDeadLetterWaitsForItsRight(t *testing.T) {
	t.Parallel()
	allow := func(o kmsg.ACLOperation, topic string) kfake.ACL {
		return kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: topic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: o, Allow: true}
	}
	const topic = "tollgate-dead-letter"
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableACLs(), kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "a"),
		kfake.SeedTopics(1, topic, "other"),
		// Write on any topic lets a user take a producer id.
		kfake.User("PLAIN", "bob", "b", allow(kmsg.ACLOperationDescribe, topic), allow(kmsg.ACLOperationWrite, "other")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg := deploytest.Config(cluster.ListenAddrs()[0])
	cfg.Kafka.SASL = &deployment.SASL{Mechanism: "plain", User: "bob", Password: secret.New("b")}
	d, err := deployment.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	letters, err := newDeadLetters(t.Context(), client, d, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer letters.close()
	letters.add("events", &kafkalog.Record{Value: []byte("{")}, "undecodable")
	over := make(chan error, 1)
	go func() { over <- letters.flush(t.Context()) }()
	await.That(t, time.Minute, "the missing right is named", func() bool {
		select {
		case err := <-over:
			t.Fatalf("the first dead letter did not wait: %v", err)
		default:
		}
		for _, one := range client.Troubles() {
			var denied *kafkalog.DeniedError
			if errors.As(one.Cause, &denied) {
				return denied.Operation == kafkalog.Write && denied.Name == topic
			}
		}
		return false
	})
	admin, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.SASL(plain.Auth{User: "admin", Pass: "a"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	grant := kmsg.NewPtrCreateACLsRequest()
	grant.Creations = append(grant.Creations, kmsg.CreateACLsRequestCreation{
		ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: topic, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: "User:bob", Host: "*", Operation: kmsg.ACLOperationWrite, PermissionType: kmsg.ACLPermissionTypeAllow,
	})
	if res, err := grant.RequestWith(t.Context(), admin); err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
	if err := <-over; err != nil {
		t.Errorf("with the right: %v", err)
	}
}
