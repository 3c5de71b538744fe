package kafkalog

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const topicIDVersion = 10

// TopicID returns the id of a topic, which it got when it was created, and the id of the cluster.
// Both are zero if the brokers' version has no topic ids.
func (c *Client) TopicID(ctx context.Context, topic string) (cluster string, id [16]byte, err error) {
	req := franzRequest{newest: topicIDVersion, make: func() kmsg.Request {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
		return req
	}}
	err = c.persistKnown(ctx, fmt.Sprintf("asking for the id of topic %q", topic), func() error {
		res := new(identity)
		err := c.anyBroker()(ctx, req, res)
		if err == nil {
			cluster, id, err = res.cluster, res.id, codeError(res.code)
		}
		return err
	})
	return cluster, id, err
}

type identity struct {
	cluster string
	code    int16
	id      [16]byte
}

// decode reads a flexible response up to the topic id. An older response has no ids.
func (t *identity) decode(version int16, body []byte) (ok bool) {
	if version < topicIDVersion {
		return true
	}
	r := kbin.Reader{Src: body}
	skipTags := func() { // franz-go's own decoder counts tags that do not exist
		for n := r.Uvarint(); r.Ok() && n > 0; n-- {
			r.Uvarint()
			r.Span(int(r.Uvarint()))
		}
	}
	skipTags() // tags of the header
	r.Int32()  // throttling
	for n := r.CompactArrayLen(); r.Ok() && n > 0; n-- {
		r.Int32() // a broker's id
		r.CompactNullableBytes()
		r.Int32() // the broker's port
		r.CompactNullableBytes()
		skipTags()
	}
	t.cluster = string(r.CompactNullableBytes())
	r.Int32() // controller
	topics := r.CompactArrayLen()
	t.code = r.Int16()
	r.CompactNullableBytes() // name
	t.id = r.Uuid()
	return topics == 1 && r.Ok()
}
