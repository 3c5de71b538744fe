package kafkalog

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTopicConfigTellsSettingsInForce(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	own := map[string]string{"cleanup.policy": "compact", "retention.bytes": "12345"}
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "own", Partitions: 1, Config: own}); err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]map[string]string{
		"own": {"cleanup.policy": "compact", "retention.bytes": "12345"},
		"t":   {"cleanup.policy": "delete", "message.timestamp.type": "CreateTime"}, // defaults
	} {
		got, err := c.TopicConfig(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s: %s = %q, want %q", topic, k, got[k], v)
			}
		}
		if v, ok := got["no.such.setting"]; ok {
			t.Errorf("%s: an unknown setting is %q", topic, v)
		}
	}
	if _, err := c.TopicConfig(t.Context(), "nowhere"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("settings of an unknown topic: %v", err)
	}
}

func TestSettingsOfRefusesOtherAnswers(t *testing.T) {
	t.Parallel()
	entry := func(name, value string, secret bool) kmsg.DescribeConfigsResponseResourceConfig {
		return kmsg.DescribeConfigsResponseResourceConfig{Name: name, Value: &value, IsSensitive: secret}
	}
	resource := func(topic string) kmsg.DescribeConfigsResponseResource {
		return kmsg.DescribeConfigsResponseResource{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
			Configs: []kmsg.DescribeConfigsResponseResourceConfig{entry("a", "1", false), entry("b", "secret", true), entry("c", "", false), {Name: "d"}},
		}
	}
	got, err := settingsOf(&kmsg.DescribeConfigsResponse{Resources: []kmsg.DescribeConfigsResponseResource{resource("t")}}, "t")
	if err != nil || len(got) != 3 || got["a"] != "1" {
		t.Errorf("settings = %v, %v", got, err)
	}
	for _, name := range []string{"c", "d"} {
		if v, ok := got[name]; !ok || v != "" {
			t.Errorf("the empty setting %s is %q, %v", name, v, ok)
		}
	}
	for name, m := range map[string]*kmsg.DescribeConfigsResponse{
		"no resource":   {},
		"another topic": {Resources: []kmsg.DescribeConfigsResponseResource{resource("u")}},
		"two resources": {Resources: []kmsg.DescribeConfigsResponseResource{resource("t"), resource("t")}},
	} {
		if _, err := settingsOf(m, "t"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
