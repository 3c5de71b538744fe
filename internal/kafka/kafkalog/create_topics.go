package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicSpec describes a topic to create.
type TopicSpec struct {
	Name        string
	Partitions  int               // at least 1
	Replication int               // replicas of each partition; 0: the broker's default.replication.factor
	Config      map[string]string // topic-level settings by their Kafka name
}

// CreateTopics creates the topics and waits until every partition has a leader. The broker creates
// each topic on its own: after an error some of them may exist. The error joins a *CreateError for
// every reason, ErrTopicExists for topics that were there before. A broken connection is an error,
// too, because the outcome is unknown then; a second call finds it out.
func (c *Client) CreateTopics(ctx context.Context, specs ...TopicSpec) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(requestTimeout.Milliseconds())
	names := make([]string, 0, len(specs))
	for _, s := range specs {
		if s.Partitions < 1 || s.Partitions > 1<<20 {
			return fmt.Errorf("creating topic %q: the number of partitions is %d, it must be at least 1", s.Name, s.Partitions)
		}
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.Name, int32(s.Partitions), -1
		if s.Replication > 0 && s.Replication < 1<<15 {
			t.ReplicationFactor = int16(s.Replication)
		}
		for _, k := range slices.Sorted(maps.Keys(s.Config)) {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: kmsg.StringPtr(s.Config[k])})
		}
		req.Topics = append(req.Topics, t)
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return nil
	}
	var created []string
	err := c.persist(ctx, "creating topics", func() error {
		var err error
		created, err = c.createOnController(ctx, req)
		return err
	})
	if waitErr := c.waitForLeaders(ctx, created, specs); waitErr != nil {
		err = errors.Join(err, waitErr)
	}
	return err
}

// notController asks for another try with fresh metadata; the broker has done nothing.
var errNotController = fmt.Errorf("creating topics: %w", kafka.NotController)

// createOnController returns the names of the topics that were created. A retriable error means
// that nothing was.
func (c *Client) createOnController(ctx context.Context, req *kmsg.CreateTopicsRequest) ([]string, error) {
	c.mu.Lock()
	addr, ok := c.brokers[c.controller]
	c.mu.Unlock()
	if !ok {
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
		addr = c.addresses()[0]
	}
	// A new connection: after a failure on one that was idle, it would not be known whether the
	// request arrived.
	cn, err := c.dial(ctx, addr)
	if err != nil {
		c.mu.Lock()
		c.controller = -1
		c.mu.Unlock()
		return nil, err
	}
	res, err := req.RequestWith(ctx, cn.within(2*requestTimeout))
	c.release(cn)
	if err != nil {
		return nil, &finalError{err}
	}
	var created []string
	var failed failures
	for _, t := range res.Topics {
		err := c.allowed(codeError(t.ErrorCode), Create, t.Topic, "")
		switch {
		case err == nil:
			created = append(created, t.Topic)
			continue
		case isCode(err, kafka.NotController):
			if len(created) == 0 && len(failed) == 0 {
				_ = c.refresh(ctx)
				return nil, errNotController
			}
		case isCode(err, kafka.TopicAlreadyExists):
			err = ErrTopicExists
		case isCode(err, kafka.InvalidReplicationFactor):
			err = c.replicationError(req, t.Topic, t.ErrorMessage)
		case t.ErrorMessage != nil:
			// The broker's words are about the request (a name, a setting), not about records.
			err = fmt.Errorf("%w (%s)", err, *t.ErrorMessage)
		}
		failed.add(t.Topic, err)
	}
	if len(failed) > 0 {
		return created, &finalError{failed.join()}
	}
	return created, nil
}

// replicationError says how many replicas a topic was to have, and for how many brokers.
func (c *Client) replicationError(req *kmsg.CreateTopicsRequest, topic string, words *string) error {
	c.mu.Lock()
	brokers := len(c.brokers)
	c.mu.Unlock()
	asked := "the default number of"
	if at := slices.IndexFunc(req.Topics, func(t kmsg.CreateTopicsRequestTopic) bool { return t.Topic == topic }); at >= 0 && req.Topics[at].ReplicationFactor > 0 {
		asked = fmt.Sprint(req.Topics[at].ReplicationFactor)
	}
	err := fmt.Errorf("%w for %s replicas: the cluster has %d", ErrReplication, asked, brokers)
	if words != nil && *words != "" && brokers == 0 {
		err = fmt.Errorf("%w (%s)", err, *words)
	}
	return err
}

// CreateError is why CreateTopics did not make topics: one reason for all of them.
type CreateError struct {
	Topics []string
	Err    error
}

func (e *CreateError) Error() string {
	noun := "topic"
	if len(e.Topics) > 1 {
		noun = "topics"
	}
	var names []string
	for _, topic := range e.Topics {
		names = append(names, strconv.Quote(topic))
	}
	return fmt.Sprintf("%s %s: %v", noun, strings.Join(names, ", "), e.Err)
}

// Unwrap returns the reason.
func (e *CreateError) Unwrap() error { return e.Err }

// failures are topics that could not be made, together where the reason is the same.
type failures []*CreateError

func (f *failures) add(topic string, err error) {
	at := slices.IndexFunc(*f, func(one *CreateError) bool { return one.Err.Error() == err.Error() })
	if at < 0 {
		*f, at = append(*f, &CreateError{Err: err}), len(*f)
	}
	(*f)[at].Topics = append((*f)[at].Topics, topic)
}

func (f failures) join() error {
	var all []error
	for _, one := range f {
		all = append(all, one)
	}
	return errors.Join(all...)
}

// waitForLeaders waits until metadata shows all partitions of the created topics with a leader.
func (c *Client) waitForLeaders(ctx context.Context, created []string, specs []TopicSpec) error {
	for _, s := range specs {
		if !slices.Contains(created, s.Name) {
			continue
		}
		err := c.persist(ctx, fmt.Sprintf("waiting for topic %q to get leaders", s.Name), func() error {
			if err := c.refresh(ctx, s.Name); err != nil {
				return err
			}
			for p := range s.Partitions {
				if _, _, ok := c.cachedLeader(s.Name, int32(p)); !ok {
					return kafka.LeaderNotAvailable
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
