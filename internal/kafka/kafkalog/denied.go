package kafkalog

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// DeniedError says which right a broker found missing. It is an ErrForbidden. A client that has had
// the right before asks again for Config.RetryFor before a call ends with this error, because an
// operator may be about to grant it again.
type DeniedError struct {
	Operation Operation
	Resource  Resource
	Name      string // of the topic or transactional id

	had  bool // the client has had this right before
	code kafka.Error
}

// Error implements error.
func (e *DeniedError) Error() string {
	on := "topic"
	if e.Resource == ResourceTransactionalID {
		on = "transactional id"
	}
	return fmt.Sprintf("%v %s on %s %q (error %d)", ErrForbidden, e.Operation, on, e.Name, e.code)
}

// Unwrap makes every DeniedError an ErrForbidden.
func (e *DeniedError) Unwrap() []error { return []error{ErrForbidden, e.code} }

// right is what a request needs of access control.
type right struct {
	operation Operation
	resource  Resource
	name      string
}

// Expect takes a right to a topic for one that the client has had: what needs it for the first time
// after days is as patient as anything else.
func (c *Client) Expect(operation Operation, topic string) {
	c.rightsMu.Lock()
	defer c.rightsMu.Unlock()
	c.rights[right{operation, ResourceTopic, topic}] = struct{}{}
}

// allowed takes the outcome of a request that needs an operation on a topic, and Write on a
// transactional id where one is given. It remembers which rights the client has, and names the one
// that is missing: a *DeniedError. Any other error it returns as it is.
func (c *Client) allowed(err error, operation Operation, topic, transactionalID string) error {
	on := right{operation, ResourceTopic, topic}
	as := right{Write, ResourceTransactionalID, transactionalID}
	c.rightsMu.Lock()
	defer c.rightsMu.Unlock()
	switch {
	case err == nil:
		c.rights[on] = struct{}{}
		if transactionalID != "" {
			c.rights[as] = struct{}{}
		}
		return nil
	case isCode(err, kafka.TransactionalIDAuthorizationFailed):
		on = as
	case !isCode(err, kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed):
		return err
	}
	denied := &DeniedError{Operation: on.operation, Resource: on.resource, Name: on.name}
	errors.As(err, &denied.code)
	_, denied.had = c.rights[on]
	return denied
}
