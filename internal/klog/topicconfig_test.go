package klog

import (
	"errors"
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

func TestTopicConfigTellsSettingsInForce(t *testing.T) {
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
			t.Errorf("%s: a setting nobody knows is %q", topic, v)
		}
	}
	if _, err := c.TopicConfig(t.Context(), "nowhere"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("settings of an unknown topic: %v", err)
	}
}

func TestSettingsOfRefusesOtherAnswers(t *testing.T) {
	entry := func(name, value string, secret bool) describeconfigs.ResponseConfigEntry {
		return describeconfigs.ResponseConfigEntry{ConfigName: name, ConfigValue: value, IsSensitive: secret}
	}
	good := describeconfigs.ResponseResource{ResourceType: configOfTopic, ResourceName: "t", ConfigEntries: []describeconfigs.ResponseConfigEntry{
		entry("a", "1", false), entry("b", "secret", true), entry("c", "", false),
	}}
	got, err := settingsOf(&describeconfigs.Response{Resources: []describeconfigs.ResponseResource{good}}, "t")
	if err != nil || len(got) != 2 || got["a"] != "1" {
		t.Errorf("settings = %v, %v", got, err)
	}
	if _, ok := got["c"]; !ok {
		t.Error("an empty setting is absent")
	}
	for name, m := range map[string]protocol.Message{
		"another message": &metadata.Response{},
		"no resource":     &describeconfigs.Response{},
		"another topic":   &describeconfigs.Response{Resources: []describeconfigs.ResponseResource{{ResourceType: configOfTopic, ResourceName: "u"}}},
	} {
		if _, err := settingsOf(m, "t"); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
