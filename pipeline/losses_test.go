package pipeline

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// appendEvents appends records to partition 0 of the events topic.
func appendEvents(t testing.TB, addr string, msgs ...kafkalog.Message) {
	t.Helper()
	client := must.Have(connect.Dial(t.Context(), deployment.Kafka{Brokers: []string{addr}}, nil))
	defer client.Close()
	appendTo(t, client, "events", 0, msgs...)
}
