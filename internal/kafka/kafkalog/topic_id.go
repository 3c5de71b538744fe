package kafkalog

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// idsFrom is the version from which on a response to Metadata has the ids of topics.
const idsFrom = 10

// TopicID returns the id that a topic got when it was created, and the id of the cluster. Both are
// zero if the brokers are of a version without ids of topics.
func (c *Client) TopicID(ctx context.Context, topic string) (cluster string, id [16]byte, err error) {
	req := franzRequest{newest: idsFrom, make: func() kmsg.Request {
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
		return denied(err, Describe, topic, "")
	})
	return cluster, id, err
}

// identity is what a response to Metadata says of one topic up to its id.
type identity struct {
	cluster string
	code    int16
	id      [16]byte
}

// decode reads a flexible response, as far as it is needed; an older one has no ids.
func (t *identity) decode(version int16, body []byte) (ok bool) {
	if version < idsFrom {
		return true
	}
	ok = true
	take := func(n uint64) []byte {
		if ok = ok && n <= uint64(len(body)); !ok {
			return make([]byte, min(n, 16))
		}
		b := body[:n]
		body = body[n:]
		return b
	}
	number := func() uint64 {
		n, size := binary.Uvarint(body)
		take(uint64(max(size, 0)))
		ok = ok && size > 0
		return n
	}
	length := func() uint64 { return max(number(), 1) - 1 } // null is 0
	tags := func() {
		for n := number(); ok && n > 0; n-- {
			number()
			take(number())
		}
	}
	tags()  // of the header
	take(4) // throttling
	for n := length(); ok && n > 0; n-- {
		take(4) // a broker's id
		take(length())
		take(4) // its port
		take(length())
		tags()
	}
	t.cluster = string(take(length()))
	take(4) // controller
	ok = length() == 1 && ok
	t.code = int16(binary.BigEndian.Uint16(take(2)))
	take(length()) // name
	copy(t.id[:], take(16))
	return ok
}
