package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Operation is what access control allows or forbids, by Kafka's number.
type Operation int8

// The operations that concern topics, transactional ids and the cluster.
const (
	All             = Operation(kmsg.ACLOperationAll)
	Read            = Operation(kmsg.ACLOperationRead)
	Write           = Operation(kmsg.ACLOperationWrite)
	Create          = Operation(kmsg.ACLOperationCreate)
	Delete          = Operation(kmsg.ACLOperationDelete)
	Alter           = Operation(kmsg.ACLOperationAlter)
	Describe        = Operation(kmsg.ACLOperationDescribe)
	DescribeConfigs = Operation(kmsg.ACLOperationDescribeConfigs)
	AlterConfigs    = Operation(kmsg.ACLOperationAlterConfigs)
)

// String returns the name that kafka-acls.sh has for an operation.
func (o Operation) String() string {
	names := [...]string{
		All: "All", Read: "Read", Write: "Write", Create: "Create", Delete: "Delete", Alter: "Alter", Describe: "Describe",
		DescribeConfigs: "DescribeConfigs", AlterConfigs: "AlterConfigs",
	}
	if o < 0 || int(o) >= len(names) || names[o] == "" {
		return fmt.Sprintf("operation %d", int8(o))
	}
	return names[o]
}

// Operations is a set of operations.
type Operations uint32

// Has reports whether an operation is in the set.
func (s Operations) Has(o Operation) bool { return s&(1<<o) != 0 }

// Resource is a kind of what access control protects.
type Resource int8

// The resources that concern a deployment.
const (
	ResourceTopic           = Resource(kmsg.ACLResourceTypeTopic)
	ResourceCluster         = Resource(kmsg.ACLResourceTypeCluster)
	ResourceTransactionalID = Resource(kmsg.ACLResourceTypeTransactionalId)
)

// AccessRule is one rule of the brokers' access control.
type AccessRule struct {
	Resource  Resource
	Name      string // of the resource, "*" for all; the beginning of it where Prefixed
	Prefixed  bool
	Principal string // "User:bob"; "User:*" is everyone
	Host      string // from where; "*" for everywhere
	Operation Operation
	Allow     bool // or forbid, which wins
}

// ErrNoAccessControl is returned by AccessRules where the brokers have none: every client may do
// everything.
var ErrNoAccessControl = errors.New("the brokers have no access control")

// AccessRules returns the rules of the brokers' access control. Super users need none, and do not
// appear in any. Errors: ErrForbidden where the user may not look (Describe on the cluster),
// ErrNoAccessControl.
func (c *Client) AccessRules(ctx context.Context) ([]AccessRule, error) {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	var rules []AccessRule
	err := c.persist(ctx, "asking for the rules of access control", func() error {
		res, err := req.RequestWith(ctx, c.anyBroker())
		if err == nil {
			err = codeError(res.ErrorCode)
		}
		switch {
		case isCode(err, kafka.ClusterAuthorizationFailed):
			return &finalError{fmt.Errorf("%w: %w", ErrForbidden, err)}
		case isCode(err, kafka.SecurityDisabled):
			return &finalError{fmt.Errorf("%w: %w", ErrNoAccessControl, err)}
		case err != nil:
			return err
		}
		rules = nil
		for _, r := range res.Resources {
			for _, a := range r.ACLs {
				rules = append(rules, AccessRule{
					Resource: Resource(r.ResourceType), Name: r.ResourceName, Prefixed: r.ResourcePatternType == kmsg.ACLResourcePatternTypePrefixed,
					Principal: a.Principal, Host: a.Host, Operation: Operation(a.Operation), Allow: a.PermissionType == kmsg.ACLPermissionTypeAllow,
				})
			}
		}
		return nil
	})
	return rules, err
}

// MayOn returns what this client's user may do with topics, by the brokers' own word: nothing with
// one that the user may not even see, whether it exists or not. A topic that the cluster does not
// have is not in the map. Brokers older than Kafka 2.3 do not tell, which is an error.
func (c *Client) MayOn(ctx context.Context, topics ...string) (map[string]Operations, error) {
	req := metadataRequest(topics)
	req.IncludeTopicAuthorizedOperations = true
	var may map[string]Operations
	var missing absence
	err := c.persist(ctx, "asking what this user may do", func() error {
		res, err := req.RequestWith(ctx, c.anyBroker())
		if err == nil {
			may, err = operationsOf(res)
		}
		if missing.lasts(err, topicGrace) {
			return nil
		}
		return err
	})
	return may, err
}

// operationsOf reads what a user may do with topics from a response. That topics are missing is an
// error beside what is said of the others.
func operationsOf(res *kmsg.MetadataResponse) (may map[string]Operations, missing error) {
	may = make(map[string]Operations, len(res.Topics))
	for _, t := range res.Topics {
		err := codeError(t.ErrorCode)
		switch {
		case t.Topic == nil:
			return nil, ErrCorrupt
		case isCode(err, kafka.UnknownTopicOrPartition):
			missing = err
		case isCode(err, kafka.TopicAuthorizationFailed):
			may[*t.Topic] = 0
		case err != nil && !retriable(err):
			return nil, err
		case t.AuthorizedOperations == math.MinInt32:
			return nil, &finalError{errors.New("brokers older than Kafka 2.3 do not say")}
		default:
			may[*t.Topic] = Operations(uint32(t.AuthorizedOperations))
		}
	}
	return may, missing
}

// MayWriteAs reports whether this client's user may write under a transactional id. It asks for
// the end of a transaction of no producer: a broker looks at access first, and then finds nothing
// to end.
func (c *Client) MayWriteAs(ctx context.Context, transactionalID string) (bool, error) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = transactionalID, -1, -1
	may := false
	err := c.persist(ctx, "asking what this user may do", func() error {
		res, err := req.RequestWith(ctx, c.anyBroker())
		if err != nil {
			return err
		}
		may = !isCode(codeError(res.ErrorCode), kafka.TransactionalIDAuthorizationFailed)
		return nil
	})
	return may, err
}

// MayCreate reports whether this client's user may create a topic. Nothing is created.
func (c *Client) MayCreate(ctx context.Context, topic string) (bool, error) {
	of := kmsg.NewCreateTopicsRequestTopic()
	of.Topic, of.NumPartitions, of.ReplicationFactor = topic, 1, -1
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly, req.TimeoutMillis = true, int32(requestTimeout.Milliseconds())
	req.Topics = append(req.Topics, of)
	may := false
	err := c.persist(ctx, "asking what this user may do", func() error {
		res, err := req.RequestWith(ctx, c.anyBroker())
		if err != nil {
			return err
		}
		if len(res.Topics) != 1 {
			return ErrCorrupt
		}
		may = !isCode(codeError(res.Topics[0].ErrorCode), kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed)
		return nil
	})
	return may, err
}
