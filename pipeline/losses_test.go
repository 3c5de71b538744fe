package pipeline

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// appendEvents appends records to partition 0 of the events topic.
func appendEvents(t *testing.T, addr string, msgs ...kafkalog.Message) {
	t.Helper()
	client, err := connect.Dial(t.Context(), deployment.Kafka{Brokers: []string{addr}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p, err := client.NewProducer(t.Context(), "events", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Append(t.Context(), msgs); err != nil {
		t.Fatal(err)
	}
}
