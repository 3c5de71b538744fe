package kafkalog

import (
	"errors"
	"testing"

	"github.com/segmentio/kafka-go/protocol/describeconfigs"
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
	resource := func(topic string) describeconfigs.ResponseResource {
		return describeconfigs.ResponseResource{
			ResourceType: resourceTopic, ResourceName: topic,
			ConfigEntries: []describeconfigs.ResponseConfigEntry{{ConfigName: "a", ConfigValue: "1"}, {ConfigName: "b", ConfigValue: "secret", IsSensitive: true}, {ConfigName: "c"}},
		}
	}
	got, err := settingsOf(&describeconfigs.Response{Resources: []describeconfigs.ResponseResource{resource("t")}}, "t")
	if err != nil || len(got) != 2 || got["a"] != "1" {
		t.Errorf("settings = %v, %v", got, err)
	}
	if v, ok := got["c"]; !ok || v != "" {
		t.Errorf("the empty setting is %q, %v", v, ok)
	}
	for name, m := range map[string]*describeconfigs.Response{
		"no resource":   {},
		"another topic": {Resources: []describeconfigs.ResponseResource{resource("u")}},
		"two resources": {Resources: []describeconfigs.ResponseResource{resource("t"), resource("t")}},
	} {
		if _, err := settingsOf(m, "t"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
