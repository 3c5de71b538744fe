package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leader is the leader of a partition. broker is −1 while no leader is elected.
type leader struct {
	broker   int32
	epoch    int32
	replicas int
}

// topicGrace is how long a topic may be missing: brokers learn of a new topic one by one.
const topicGrace = 500 * time.Millisecond

// Partitions returns the partition numbers of a topic in ascending order. Errors: ErrUnknownTopic.
func (c *Client) Partitions(ctx context.Context, topic string) ([]int32, error) {
	leaders, err := c.describe(ctx, topic)
	return slices.Sorted(maps.Keys(leaders)), err
}

// Replication returns the minimum number of replicas of a partition, and the number of brokers.
func (c *Client) Replication(ctx context.Context, topic string) (replicas, brokers int, err error) {
	leaders, err := c.describe(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	replicas = math.MaxInt
	for _, l := range leaders {
		replicas = min(replicas, l.replicas)
	}
	defer c.lock()()
	return replicas, len(c.brokers), nil
}

// ClusterID returns the id of the cluster, which never changes.
func (c *Client) ClusterID(ctx context.Context) (id string, err error) {
	err = c.persist(ctx, "asking for the cluster's id", func() error {
		err := c.refresh(ctx)
		defer c.lock()()
		if id = c.clusterID; err == nil && id == "" {
			err = ErrCorrupt
		}
		return err
	})
	return id, err
}

func (c *Client) describe(ctx context.Context, topic string) (map[int32]leader, error) {
	doing := fmt.Sprintf("asking for the partitions of topic %q", topic)
	var all map[int32]leader
	err := c.persistKnown(ctx, doing, func() error {
		if err := c.refresh(ctx, topic); err != nil {
			return err
		}
		defer c.lock()()
		if all = c.topics[topic]; len(all) == 0 {
			return kafka.UnknownTopicOrPartition
		}
		return nil
	})
	return all, err
}

// refresh requests metadata from any broker. It forgets topics that do not exist.
func (c *Client) refresh(ctx context.Context, topics ...string) error {
	return c.refreshOn(ctx, c.anyBroker(), topics)
}

func (c *Client) refreshOn(ctx context.Context, broker requestor, topics []string) error {
	res := kmsg.NewPtrMetadataResponse()
	// nil would ask for every topic.
	err := broker(ctx, &metadata.Request{TopicNames: append([]string{}, topics...)}, res)
	if err != nil {
		return err
	}
	return c.learn(res, topics)
}

func (c *Client) learn(m *kmsg.MetadataResponse, topics []string) error {
	defer c.lock()()
	if len(m.Brokers) > 0 {
		clear(c.brokers)
		for _, b := range m.Brokers {
			c.brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
		c.controller = m.ControllerID
	}
	c.clusterID = cmp.Or(text(m.ClusterID), c.clusterID)
	for _, name := range topics {
		delete(c.topics, name)
	}
	var failed error
	for _, t := range m.Topics {
		name := text(t.Topic)
		if err := codeError(t.ErrorCode); err != nil {
			if !isCode(err, kafka.UnknownTopicOrPartition) {
				failed = errors.Join(failed, fmt.Errorf("topic %q: %w", name, err))
			}
			continue
		}
		leaders := make(map[int32]leader, len(t.Partitions))
		for _, p := range t.Partitions {
			leaders[p.Partition] = leader{broker: p.Leader, epoch: p.LeaderEpoch, replicas: len(p.Replicas)}
		}
		c.topics[name] = leaders
	}
	return failed
}

// leaderOf returns the broker that serves a partition, from the cache or after a request.
func (c *Client) leaderOf(ctx context.Context, topic string, partition int32) (id int32, addr string, err error) {
	id, addr, err = c.cachedLeader(topic, partition)
	if err == nil {
		return id, addr, nil
	}
	if err := c.refresh(ctx, topic); err != nil {
		return 0, "", err
	}
	return c.cachedLeader(topic, partition)
}

func (c *Client) cachedLeader(topic string, partition int32) (id int32, addr string, err error) {
	defer c.lock()()
	l, ok := c.topics[topic][partition]
	if !ok {
		return 0, "", kafka.UnknownTopicOrPartition
	}
	if addr, ok = c.brokers[l.broker]; !ok {
		return 0, "", kafka.LeaderNotAvailable
	}
	return l.broker, addr, nil
}

// forget drops the cached metadata of a topic, so that the next use requests it again.
func (c *Client) forget(topic string) {
	defer c.lock()()
	delete(c.topics, topic)
}

// atLeader calls ask with the leader of a partition until ask succeeds (see persistKnown).
func (c *Client) atLeader(ctx context.Context, doing, topic string, partition int32,
	ask func(leader requestor) error) error {
	return c.persistKnown(ctx, doing, func() error {
		_, addr, err := c.leaderOf(ctx, topic, partition)
		if err == nil {
			err = ask(c.broker(addr))
		}
		if err != nil {
			c.forget(topic)
		}
		return err
	})
}
