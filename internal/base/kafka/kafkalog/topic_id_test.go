package kafkalog

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

func TestATopicThatIsCreatedAgainHasAnotherID(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	id := func() [16]byte {
		t.Helper()
		name, id, err := c.TopicID(t.Context(), "t")
		if known, idErr := c.ClusterID(t.Context()); err != nil || idErr != nil || name != known || id == [16]byte{} {
			t.Fatalf("%q, %x, %v, %v", name, id, err, idErr)
		}
		return id
	}
	first := id()
	must.Succeed(t, cluster.DeleteTopic("t"))
	if _, _, err := c.TopicID(t.Context(), "t"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("without the topic: %v", err)
	}
	must.Succeed(t, cluster.CreateTopic("t", 1, nil))
	if id() == first {
		t.Error("another topic has the same id")
	}
}

func TestOldBrokersHaveNoIDsOfTopics(t *testing.T) {
	t.Parallel()
	cluster := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"),
		kfake.MaxVersions(kversion.V2_6_0())))
	t.Cleanup(cluster.Close)
	c := dial(t, cluster)
	if cluster, id, err := c.TopicID(t.Context(), "t"); cluster != "" || id != [16]byte{} || err != nil {
		t.Errorf("%q, %x, %v", cluster, id, err)
	}
}
