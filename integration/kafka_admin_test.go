package integration

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// adminClient returns a franz-go client, independent of the product's own.
func adminClient(t testing.TB, broker string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client := must.Have(kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(broker)}, options...)...))
	t.Cleanup(client.Close)
	return client
}

// alterTopic changes settings of a topic and waits until the broker reports them.
func alterTopic(t testing.TB, broker, topic string, settings map[string]string) {
	t.Helper()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for name, value := range settings {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = name, kmsg.StringPtr(value)
		resource.Configs = append(resource.Configs, c)
	}
	request.Resources = append(request.Resources, resource)
	response := deploytest.Ask(t, broker, request.RequestWith)
	if err := kerr.ErrorForCode(response.Resources[0].ErrorCode); err != nil {
		t.Fatalf("changing topic %s: %v", topic, err)
	}
	await.That(t, patience, fmt.Sprintf("topic %s has its settings %v", topic, settings), func() bool {
		return topicHas(t, broker, topic, settings)
	})
}

// topicHas reports whether a topic has these settings.
func topicHas(t testing.TB, broker, topic string, settings map[string]string) bool {
	t.Helper()
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	request.Resources = append(request.Resources, resource)
	response := deploytest.Ask(t, broker, request.RequestWith)
	have := 0
	for _, c := range response.Resources[0].Configs {
		if want, ok := settings[c.Name]; ok && c.Value != nil && *c.Value == want {
			have++
		}
	}
	return have == len(settings)
}
