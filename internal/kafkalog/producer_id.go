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
// and raises the epoch.
func (c *Client) initProducer(ctx context.Context, transactionalID string) (id int64, epoch int16, err error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = int32(transactionTimeout.Milliseconds())
	at := c.anyBroker()
	if transactionalID != "" {
		req.TransactionalID = &transactionalID
		addr, err := c.coordinator(ctx, transactionalID)
		if err != nil {
			return -1, -1, err
		}
		at = c.broker(addr)
	}
	res, err := req.RequestWith(ctx, at)
	if err != nil {
		return -1, -1, err
	}
	return res.ProducerID, res.ProducerEpoch, codeError(res.ErrorCode)
}

// coordinator returns the address of the broker that keeps a transactional id.
func (c *Client) coordinator(ctx context.Context, transactionalID string) (string, error) {
	const ofTransactions = 1
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorType = transactionalID, ofTransactions
	res, err := req.RequestWith(ctx, c.anyBroker())
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(res.Host, strconv.Itoa(int(res.Port))), codeError(res.ErrorCode)
}
