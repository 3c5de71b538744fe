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
	"github.com/segmentio/kafka-go/protocol/createtopics"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
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
	if len(specs) == 0 {
		return nil
	}
	req := &createtopics.Request{TimeoutMs: int32(requestTimeout.Milliseconds())}
	for _, s := range specs {
		if s.Partitions < 1 || s.Partitions > 1<<20 {
			return fmt.Errorf("creating topic %q: the number of partitions is %d, it must be at least 1", s.Name, s.Partitions)
		}
		t := createtopics.RequestTopic{Name: s.Name, NumPartitions: int32(s.Partitions), ReplicationFactor: -1}
		if s.Replication > 0 && s.Replication < 1<<15 {
			t.ReplicationFactor = int16(s.Replication)
		}
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

// createOnController returns the names of the topics that were created. A retriable error means
// that nothing was.
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
	// A new connection: after a failure on one that was idle, it would not be known whether the
	// request arrived.
	res := new(createtopics.Response)
	err := c.onNewConnection(addr, 2*requestTimeout)(ctx, req, res)
	if errors.As(err, new(*stageError)) {
		return nil, err
	}
	if err != nil {
		return nil, &finalError{err}
	}
	var created []string
	var failed []error
	for i, t := range res.Topics {
		err := denied(codeError(t.ErrorCode), Create, t.Name, "")
		switch {
		case err == nil:
			created = append(created, t.Name)
			continue
		case isCode(err, kafka.NotController) && i == 0: // the broker has done nothing
			return nil, err
		case isCode(err, kafka.TopicAlreadyExists):
			err = ErrTopicExists
		case isCode(err, kafka.InvalidReplicationFactor):
			asked := "the default number of"
			if at := slices.IndexFunc(req.Topics, func(r createtopics.RequestTopic) bool { return r.Name == t.Name }); at >= 0 && req.Topics[at].ReplicationFactor > 0 {
				asked = fmt.Sprint(req.Topics[at].ReplicationFactor)
			}
			err = fmt.Errorf("%w for %s replicas: the cluster has %d", ErrReplication, asked, brokers)
		case t.ErrorMessage != "":
			// The broker's words are about the request (a name, a setting), not about records.
			err = fmt.Errorf("%w (%s)", err, t.ErrorMessage)
		}
		same := slices.IndexFunc(failed, func(f error) bool { return f.(*CreateError).Err.Error() == err.Error() }) //nolint:errorlint // of this loop
		if same < 0 {
			failed, same = append(failed, &CreateError{Err: err}), len(failed)
		}
		one := failed[same].(*CreateError) //nolint:errorlint // of this loop
		one.Topics = append(one.Topics, t.Name)
	}
	if len(failed) > 0 {
		return created, &finalError{errors.Join(failed...)}
	}
	return created, nil
}

// CreateError is why CreateTopics did not make topics: one reason for all of them.
type CreateError struct {
	Topics []string
	Err    error
}

func (e *CreateError) Error() string {
	noun := "topic "
	if len(e.Topics) > 1 {
		noun = "topics "
	}
	var names []string
	for _, topic := range e.Topics {
		names = append(names, strconv.Quote(topic))
	}
	return noun + strings.Join(names, ", ") + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *CreateError) Unwrap() error { return e.Err }

// waitForLeaders waits until metadata shows all partitions of the created topics with a leader.
func (c *Client) waitForLeaders(ctx context.Context, created []string, specs []TopicSpec) error {
	for _, s := range specs {
		if !slices.Contains(created, s.Name) {
			continue
		}
		err := c.persist(ctx, fmt.Sprintf("waiting for topic %q to get leaders", s.Name), func() error {
			err := c.refresh(ctx, s.Name)
			for p := range s.Partitions {
				if _, _, ok := c.cachedLeader(s.Name, int32(p)); !ok && err == nil {
					err = kafka.LeaderNotAvailable
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TopicConfig returns the settings of a topic that are in force, by their Kafka name: the topic's
// own, else the broker's, else the default. A setting that the broker does not know or keeps secret
// is absent. Errors: ErrUnknownTopic if the cluster does not have the topic, *DeniedError
// if the user may not see its settings.
func (c *Client) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	doing := fmt.Sprintf("asking for the settings of topic %q", topic)
	req := &describeconfigs.Request{Resources: []describeconfigs.RequestResource{{ResourceType: resourceTopic, ResourceName: topic}}}
	var settings map[string]string
	err := c.persistKnown(ctx, doing, func() error {
		res := new(describeconfigs.Response)
		err := c.anyBroker()(ctx, req, res)
		if err == nil {
			settings, err = settingsOf(res, topic)
		}
		return denied(err, DescribeConfigs, topic, "")
	})
	return settings, err
}

const resourceTopic = int8(kafka.ResourceTypeTopic)

func settingsOf(res *describeconfigs.Response, topic string) (map[string]string, error) {
	if len(res.Resources) != 1 {
		return nil, ErrCorrupt
	}
	r := res.Resources[0]
	if err := codeError(r.ErrorCode); err != nil {
		return nil, err
	}
	if r.ResourceType != resourceTopic || r.ResourceName != topic {
		return nil, ErrCorrupt
	}
	settings := make(map[string]string, len(r.ConfigEntries))
	for _, e := range r.ConfigEntries {
		if !e.IsSensitive {
			settings[e.ConfigName] = e.ConfigValue
		}
	}
	return settings, nil
}
