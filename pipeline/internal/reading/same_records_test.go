package reading

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// A topic that is created again with as many records, between two fetches, looks like the old one.
func TestARunRefusesATopicThatWasCreatedAgainMeanwhile(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s := &Source{client: client, dep: &deployment.Deployment{}, taken: &schemas.Epoch{}, opts: Options{Groups: 1},
		session: session{partitions: []*partition{{}}}}
	s.dep.Config.Events.Topic = "events"
	if s.taken.Cluster, s.taken.EventsID, err = client.TopicID(t.Context(), "events"); err != nil {
		t.Fatal(err)
	}
	refresh := func() error {
		s.refreshed = time.Time{}
		return s.refreshPartitions(t.Context())
	}
	if err := refresh(); err != nil {
		t.Errorf("the same topic: %v", err)
	}
	if err := errors.Join(cluster.DeleteTopic("events"), cluster.CreateTopic("events", 1, nil)); err != nil {
		t.Fatal(err)
	}
	if err := refresh(); !errors.Is(err, deployment.ErrLogFault) {
		t.Errorf("a topic that was created again: %v", err)
	}
}
