package kafkalog

import (
	"fmt"

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

// Resource is a kind of what access control protects.
type Resource int8

// The resources that concern a deployment.
const (
	ResourceTopic           = Resource(kmsg.ACLResourceTypeTopic)
	ResourceCluster         = Resource(kmsg.ACLResourceTypeCluster)
	ResourceTransactionalID = Resource(kmsg.ACLResourceTypeTransactionalId)
)
