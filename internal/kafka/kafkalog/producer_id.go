package kafkalog

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionTimeout is how long the empty transaction of a Fence may last: then it is aborted.
const transactionTimeout = 60 * time.Second

// initProducer asks for a producer id and epoch. With a transactional id its coordinator answers,
// and raises the epoch. The producer is for a topic.
func (c *Client) initProducer(ctx context.Context, topic, transactionalID string) (id int64, epoch int16, err error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = int32(transactionTimeout.Milliseconds())
	at := c.anyBroker()
	if transactionalID != "" {
		req.TransactionalID = &transactionalID
		addr, err := c.coordinator(ctx, topic, transactionalID)
		if err != nil {
			return -1, -1, err
		}
		at = c.broker(addr)
	}
	res, err := req.RequestWith(ctx, at)
	if err != nil {
		return -1, -1, err
	}
	err = codeError(res.ErrorCode)
	if err != nil { // else the topic may still be denied
		err = c.allowed(err, Write, topic, transactionalID)
	}
	return res.ProducerID, res.ProducerEpoch, err
}

// coordinator returns the address of the broker that keeps a transactional id, for a producer of a
// topic.
func (c *Client) coordinator(ctx context.Context, topic, transactionalID string) (string, error) {
	const ofTransactions = 1
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorType = transactionalID, ofTransactions
	res, err := req.RequestWith(ctx, c.anyBroker())
	if err != nil {
		return "", err
	}
	err = codeError(res.ErrorCode)
	if err != nil {
		err = c.allowed(err, Write, topic, transactionalID)
	}
	return net.JoinHostPort(res.Host, strconv.Itoa(int(res.Port))), err
}
