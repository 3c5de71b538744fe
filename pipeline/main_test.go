package pipeline

import (
	"fmt"
	"os"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

func TestMain(m *testing.M) {
	if err := await.AtOnce(4); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// dial connects to a deployment's cluster for as long as a test runs.
func dial(t testing.TB, d *deployment.Deployment) *kafkalog.Client {
	t.Helper()
	client := must.Have(connect.Dial(t.Context(), d.Config.Kafka, nil))
	t.Cleanup(client.Close)
	return client
}

// appendTo appends records to a partition, and returns the offset of the first.
func appendTo(t testing.TB, client *kafkalog.Client, topic string, partition int32, msgs ...kafkalog.Message) int64 {
	t.Helper()
	p := must.Have(client.NewProducer(t.Context(), topic, partition, ""))
	defer p.Close()
	return must.Have(p.Append(t.Context(), msgs))
}
