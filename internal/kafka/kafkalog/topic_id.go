package kafkalog

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// idsFrom is the version from which on a response to Metadata has the ids of topics.
const idsFrom = 10

// idRequest is a Metadata request of a version that kafka-go does not have.
type idRequest struct{ *kmsg.MetadataRequest }

// ApiKey implements protocol.Message.
//
//lint:ignore ST1003 kafka-go's name
func (idRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }

// TopicID returns the id that a topic got when it was created, and the id of the cluster. Both are
// zero if the brokers are of a version without ids of topics.
func (c *Client) TopicID(ctx context.Context, topic string) (cluster string, id [16]byte, err error) {
	req, of := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	of.Topic, req.Version = &topic, idsFrom
	req.Topics = append(req.Topics, of)
	err = c.persistKnown(ctx, fmt.Sprintf("asking for the id of topic %q", topic), func() error {
		res := kmsg.NewPtrMetadataResponse()
		res.Version = idsFrom
		if err := c.anyBroker()(ctx, idRequest{req}, res); err != nil || len(res.Topics) == 0 || res.ClusterID == nil {
			return err
		}
		cluster, id = *res.ClusterID, res.Topics[0].TopicID
		return denied(codeError(res.Topics[0].ErrorCode), Describe, topic, "")
	})
	return cluster, id, err
}
