package reading

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// A topic that is created again with as many records, between two fetches, looks like the old one.
func TestARunRefusesATopicThatWasCreatedAgainMeanwhile(t *testing.T) {
	t.Parallel()
	cluster := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events")))
	t.Cleanup(cluster.Close)
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: cluster.ListenAddrs()}))
	t.Cleanup(client.Close)
	s := &Source{client: client, dep: &deployment.Deployment{}, epochRecord: &schemas.Epoch{}, opts: Options{Groups: 1},
		session: session{partitions: []*partition{{}}}}
	s.dep.Config.Events.Topic = "events"
	var err error
	s.epochRecord.Cluster, s.epochRecord.EventsID, err = client.TopicID(t.Context(), "events")
	must.Succeed(t, err)
	refresh := func() error {
		s.refreshed = time.Time{}
		return s.refreshPartitions(t.Context())
	}
	if err := refresh(); err != nil {
		t.Errorf("the same topic: %v", err)
	}
	must.Succeed(t, errors.Join(cluster.DeleteTopic("events"), cluster.CreateTopic("events", 1, nil)))
	if err := refresh(); !errors.Is(err, deployment.ErrLogFault) {
		t.Errorf("a topic that was created again: %v", err)
	}
}
