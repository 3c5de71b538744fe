package pipeline

import (
	"fmt"
	"os"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

func TestMain(m *testing.M) {
	if err := await.AtOnce(4); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// must is for the steps of a set-up.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// dial connects to a deployment's cluster for as long as a test runs.
func dial(t testing.TB, d *deployment.Deployment) *kafkalog.Client {
	t.Helper()
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// appendTo appends records to a partition, and returns the offset of the first.
func appendTo(t testing.TB, client *kafkalog.Client, topic string, partition int32, msgs ...kafkalog.Message) int64 {
	t.Helper()
	p, err := client.NewProducer(t.Context(), topic, partition, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	offset, err := p.Append(t.Context(), msgs)
	if err != nil {
		t.Fatal(err)
	}
	return offset
}
