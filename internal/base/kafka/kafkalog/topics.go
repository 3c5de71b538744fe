package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/createtopics"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicSpec describes a topic to create.
type TopicSpec struct {
	Name        string
	Partitions  int               // at least 1
	Replication int               // replicas of each partition; 0: the broker's default.replication.factor
	Config      map[string]string // topic-level settings, by their names in Kafka
}

// CreateTopics creates topics and waits until every partition has a leader. After an error, some
// topics may exist. The error joins a *CreateError for each reason; for existing topics the reason
// is ErrTopicExists. After a broken connection, call CreateTopics again to learn the outcome.
func (c *Client) CreateTopics(ctx context.Context, specs ...TopicSpec) error {
	req := &createtopics.Request{TimeoutMs: int32(requestTimeout.Milliseconds())}
	for _, s := range specs {
		if s.Partitions < 1 || s.Partitions > 1<<20 {
			return fmt.Errorf("creating topic %q: the number of partitions is %d, it must be at least 1", s.Name,
				s.Partitions)
		}
		replicas := min(cmp.Or(s.Replication, -1), math.MaxInt16)
		t := createtopics.RequestTopic{Name: s.Name, NumPartitions: int32(s.Partitions),
			ReplicationFactor: int16(replicas)}
		for _, k := range slices.Sorted(maps.Keys(s.Config)) {
			t.Configs = append(t.Configs, createtopics.RequestConfig{Name: k, Value: s.Config[k]})
		}
		req.Topics = append(req.Topics, t)
	}
	var created []string
	err := c.persist(ctx, "creating topics", func() (err error) {
		created, err = c.createOnController(ctx, req)
		return err
	})
	return errors.Join(err, c.waitForLeaders(ctx, created, specs))
}

func (c *Client) createOnController(ctx context.Context, req *createtopics.Request) ([]string, error) {
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	addr, brokers := c.brokers[c.controller], len(c.brokers)
	c.mu.Unlock()
	if addr == "" {
		addr = c.addresses()[0]
	}
	// If an idle connection failed, nobody would know whether the request arrived.
	res := kmsg.NewPtrCreateTopicsResponse()
	err := c.onNewConnection(addr, 2*requestTimeout)(ctx, req, res)
	if errors.As(err, new(*stageError)) {
		return nil, err
	}
	if err != nil {
		return nil, &finalError{err}
	}
	var created []string
	failed := map[string]*CreateError{} // by reason
	for i, t := range res.Topics {
		err := codeError(t.ErrorCode)
		switch {
		case err == nil:
			created = append(created, t.Topic)
			continue
		case isCode(err, kafka.NotController) && i == 0: // the broker has done nothing
			return nil, err
		case isCode(err, kafka.TopicAlreadyExists):
			err = ErrTopicExists
		case isCode(err, kafka.InvalidReplicationFactor):
			err = fmt.Errorf("%w for the replicas: the cluster has %d", ErrReplication, brokers)
		case text(t.ErrorMessage) != "":
			// The broker's message is about the request (a name, a setting), not about records.
			err = fmt.Errorf("%w (%s)", err, text(t.ErrorMessage))
		}
		createErr := cmp.Or(failed[err.Error()], &CreateError{Err: err})
		createErr.Topics = append(createErr.Topics, t.Topic)
		failed[err.Error()] = createErr
	}
	var reasons []error
	for _, reason := range slices.Sorted(maps.Keys(failed)) {
		reasons = append(reasons, failed[reason])
	}
	if len(reasons) > 0 {
		return created, &finalError{errors.Join(reasons...)}
	}
	return created, nil
}

// CreateError is a reason why CreateTopics did not create some of the topics.
type CreateError struct {
	Topics []string
	Err    error
}

func (e *CreateError) Error() string { return fmt.Sprintf("topics %q: %v", e.Topics, e.Err) }

func (e *CreateError) Unwrap() error { return e.Err }

// waitForLeaders waits until all partitions of the created topics have a leader in the metadata.
func (c *Client) waitForLeaders(ctx context.Context, created []string, specs []TopicSpec) error {
	for _, s := range specs {
		if !slices.Contains(created, s.Name) {
			continue
		}
		err := c.persist(ctx, fmt.Sprintf("waiting for topic %q to get leaders", s.Name), func() error {
			err := c.refresh(ctx, s.Name)
			for p := 0; p < s.Partitions && err == nil; p++ {
				_, _, err = c.cachedLeader(s.Name, int32(p))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TopicConfig returns the effective settings of a topic, except secret ones, by their names in
// Kafka. Errors: ErrUnknownTopic, ErrForbidden.
func (c *Client) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	doing := fmt.Sprintf("asking for the settings of topic %q", topic)
	resource := describeconfigs.RequestResource{ResourceType: int8(kafka.ResourceTypeTopic), ResourceName: topic}
	req := &describeconfigs.Request{Resources: []describeconfigs.RequestResource{resource}}
	var settings map[string]string
	err := c.persistKnown(ctx, doing, func() error {
		res := kmsg.NewPtrDescribeConfigsResponse()
		err := c.anyBroker()(ctx, req, res)
		if err == nil {
			settings, err = settingsOf(res, topic)
		}
		return err
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
		if !e.IsSensitive {
			settings[e.Name] = text(e.Value)
		}
	}
	return settings, nil
}
