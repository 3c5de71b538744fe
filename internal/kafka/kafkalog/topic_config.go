package kafkalog

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicConfig returns the settings of a topic that are in force, by their Kafka name: the topic's
// own, else the broker's, else the default. A setting that the broker does not know or keeps secret
// is absent. Errors: ErrUnknownTopic if the cluster does not have the topic, *DeniedError
// if the user may not see its settings.
func (c *Client) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	doing := fmt.Sprintf("asking for the settings of topic %q", topic)
	of := kmsg.NewDescribeConfigsRequestResource()
	of.ResourceType, of.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, of)
	var settings map[string]string
	err := c.persistKnown(ctx, doing, func() error {
		res, err := req.RequestWith(ctx, c.anyBroker())
		if err == nil {
			settings, err = settingsOf(res, topic)
		}
		return c.allowed(err, DescribeConfigs, topic, "")
	})
	return settings, err
}

func settingsOf(res *kmsg.DescribeConfigsResponse, topic string) (map[string]string, error) {
	if len(res.Resources) != 1 {
		return nil, ErrCorrupt
	}
	r := res.Resources[0]
	if err := codeError(r.ErrorCode); err != nil {
		return nil, err
	}
	if r.ResourceType != kmsg.ConfigResourceTypeTopic || r.ResourceName != topic {
		return nil, ErrCorrupt
	}
	settings := make(map[string]string, len(r.Configs))
	for _, e := range r.Configs {
		switch {
		case e.IsSensitive:
		case e.Value == nil:
			settings[e.Name] = ""
		default:
			settings[e.Name] = *e.Value
		}
	}
	return settings, nil
}
