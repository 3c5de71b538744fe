package kafkalog

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

func TestTopicConfigTellsSettingsInForce(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	must.Succeed(t, c.CreateTopics(t.Context(),
		TopicSpec{Name: "own", Partitions: 1, Config: map[string]string{"cleanup.policy": "compact"}}))
	for topic, want := range map[string]string{"own": "compact", "t": "delete"} {
		got, err := c.TopicConfig(t.Context(), topic)
		if _, unknown := got["no.such.setting"]; err != nil || unknown || got["cleanup.policy"] != want ||
			got["message.timestamp.type"] != "CreateTime" {
			t.Errorf("%s: %v, %v", topic, got, err)
		}
	}
	if _, err := c.TopicConfig(t.Context(), "nowhere"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("settings of an unknown topic: %v", err)
	}
}

func TestSettingsOfRefusesOtherAnswers(t *testing.T) {
	t.Parallel()
	type resources = []kmsg.DescribeConfigsResponseResource
	resource := func(topic string) kmsg.DescribeConfigsResponseResource {
		return kmsg.DescribeConfigsResponseResource{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
			Configs: []kmsg.DescribeConfigsResponseResourceConfig{{Name: "a", Value: new("1")},
				{Name: "b", Value: new("secret"), IsSensitive: true}},
		}
	}
	got, err := settingsOf(&kmsg.DescribeConfigsResponse{Resources: resources{resource("t")}}, "t")
	if err != nil || len(got) != 1 || got["a"] != "1" {
		t.Errorf("settings = %v, %v", got, err)
	}
	for _, all := range []resources{nil, {resource("u")}, {resource("t"), resource("t")}} {
		if _, err := settingsOf(&kmsg.DescribeConfigsResponse{Resources: all}, "t"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: %v", all, err)
		}
	}
}
