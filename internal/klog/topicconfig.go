package klog

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
)

// configOfTopic is the resource type of a topic in a DescribeConfigs request.
const configOfTopic = 2

// TopicConfig returns the settings in force of a topic by their Kafka name: its own, else the broker's, else the
// default. A setting that the broker does not know or keeps secret is absent. Errors: ErrUnknownTopic when there is no such
// topic, ErrForbidden when the user may not see its settings.
func (c *Client) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	doing := fmt.Sprintf("asking for the settings of topic %q", topic)
	req := &describeconfigs.Request{Resources: []describeconfigs.RequestResource{{ResourceType: configOfTopic, ResourceName: topic}}}
	start := time.Now()
	var settings map[string]string
	err := c.persist(ctx, doing, func() error {
		m, err := c.askAny(ctx, req)
		if err != nil {
			return err
		}
		settings, err = settingsOf(m, topic)
		switch {
		case isCode(err, kafka.UnknownTopicOrPartition) && time.Since(start) > topicGrace:
			return ErrUnknownTopic
		case isCode(err, kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed):
			return &finalError{fmt.Errorf("%w: %w", ErrForbidden, err)}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return settings, nil
}

func settingsOf(m protocol.Message, topic string) (map[string]string, error) {
	res, ok := m.(*describeconfigs.Response)
	if !ok || len(res.Resources) != 1 {
		return nil, ErrCorrupt
	}
	r := res.Resources[0]
	if err := codeError(r.ErrorCode); err != nil {
		return nil, err
	}
	if r.ResourceType != configOfTopic || r.ResourceName != topic {
		return nil, ErrCorrupt
	}
	settings := make(map[string]string, len(r.ConfigEntries))
	for _, e := range r.ConfigEntries {
		if !e.IsSensitive {
			settings[e.ConfigName] = e.ConfigValue
		}
	}
	return settings, nil
}
