package topicrules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Check checks all topics of a deployment and returns all faults, joined. A wrong setting is a
// *deployment.TopicError. A topic that does not belong with the others is one that wraps
// deployment.ErrLogFault. Check logs possible improvements to o.Logger. Other errors are the
// broker's.
func Check(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o Options) error {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	var faults []error
	rules := rulesOfTopics(d)
	topics, err := describeTopics(ctx, d, client, rules)
	if err == nil && len(topics.mismatched) > 0 {
		// An init or a run may have written between two requests: only lasting faults count.
		topics, err = describeTopics(ctx, d, client, rules)
	}
	if err != nil {
		return err
	}
	for i, t := range topics.states {
		if t == nil {
			faults = append(faults, topics.failed[i])
			continue
		}
		for _, rule := range rules[i].rules {
			rule(t)
		}
		for _, w := range t.warnings {
			o.Logger.Warn(w)
		}
		faults = append(faults, t.faults...)
	}
	dropMissing := func(selected func(topic string) bool) {
		faults = slices.DeleteFunc(faults, func(err error) bool {
			t, ok := errors.AsType[*deployment.TopicError](err)
			return ok && selected(t.Topic) && errors.Is(err, kafkalog.ErrUnknownTopic)
		})
	}
	for _, fault := range topics.mismatched {
		// This error is more specific than a missing topic's, and has another remedy.
		dropMissing(func(topic string) bool { return topic == fault.Topic })
		faults = append(faults, fault)
	}
	if o.WillCreate != nil {
		dropMissing(o.WillCreate)
	}
	otherFaults := len(faults) > 0 // the check fails even without Strict
	for _, w := range weaknesses(topics.states, o) {
		if otherFaults {
			w.Err = nil
		}
		faults = append(faults, w)
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("checking the topics: %w", errors.Join(faults...))
}

// described holds, for each topic, its state or the error of describing it.
type described struct {
	states     []*state
	failed     []*deployment.TopicError
	mismatched []*deployment.TopicError // topics that are gone or belong to another deployment
}

// describeTopics describes all topics concurrently. For a missing topic the client waits a little,
// because brokers learn of new topics late.
func describeTopics(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	rules []rulesOfTopic) (*described, error) {
	s := &described{make([]*state, len(rules)), make([]*deployment.TopicError, len(rules)), nil}
	failures := make([]error, len(rules))
	var all sync.WaitGroup
	for i := range rules {
		all.Go(func() { s.states[i], failures[i] = describeTopic(ctx, d, client, rules[i].topic) })
	}
	all.Wait()
	missing, forbidden := map[string]bool{}, false
	for i, err := range failures {
		if err != nil && !errors.As(err, &s.failed[i]) {
			return nil, err
		}
		if err != nil {
			missing[rules[i].topic] = errors.Is(err, kafkalog.ErrUnknownTopic)
			forbidden = forbidden || errors.Is(err, kafkalog.ErrForbidden)
		}
	}
	if forbidden {
		return s, nil
	}
	var err error
	s.mismatched, err = checkSameDeployment(ctx, d, client, missing)
	return s, err
}

// CreateEvents is the remedy for a missing events topic.
const CreateEvents = "create it, let tollgate init --create-topics --event-partitions N create it, or correct " +
	"events.topic"

// describeTopic requests what the rules need to know about a topic. It returns a
// *deployment.TopicError if the topic does not exist or the broker denies access.
func describeTopic(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	name string) (*state, error) {
	t := &state{name: name, broker: d.Config.Kafka.Brokers[0]}
	ids, err := client.Partitions(ctx, name)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		fix := "create it with tollgate init --create-topics, or correct its name under outputs"
		if name == d.Config.Events.Topic {
			fix = CreateEvents
		}
		return nil, &deployment.TopicError{Topic: name, Got: "does not exist", Fix: fix, Err: kafkalog.ErrUnknownTopic}
	}
	if err == nil {
		t.partitions = len(ids)
		t.replicas, t.brokers, err = client.Replication(ctx, name)
	}
	right, refused := "Describe", "describe it"
	if err == nil {
		right, refused = "DescribeConfigs", "read its settings"
		t.settings, err = client.TopicConfig(ctx, name)
	}
	if errors.Is(err, kafkalog.ErrForbidden) {
		return nil, &deployment.TopicError{Topic: name, Got: "does not let this user " + refused,
			Fix: fmt.Sprintf("grant the user %s on the topic", right), Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("checking the topics: %w", err)
	}
	return t, nil
}

// checkSameDeployment returns the topics that are gone, or that cannot belong to the same
// deployment because one is empty although another contains records of a later time.
func checkSameDeployment(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	missing map[string]bool) ([]*deployment.TopicError, error) {
	out := &d.Config.Outputs
	control, err := HoldsRecords(ctx, client, out.Control, missing)
	if err != nil {
		return nil, err
	}
	state := "is empty"
	if missing[out.Control] {
		state = "does not exist"
	}
	var mismatched []*deployment.TopicError
	addMissing := func(topic, fix string) {
		mismatched = append(mismatched, &deployment.TopicError{Topic: topic,
			Got: fmt.Sprintf("does not exist, but topic %s holds records", out.Control), Err: deployment.ErrLogFault,
			Fix: fix})
	}
	if topic := d.Config.Events.Topic; control && missing[topic] {
		addMissing(topic, "if it was lost, restore it, because runs refuse a new one once a turn is settled; "+
			"otherwise correct events.topic")
	}
	for _, topic := range []string{out.Turns, out.DeadLetter} { // no run needs the records of these topics
		if control && missing[topic] {
			mismatched = append(mismatched,
				&deployment.TopicError{Topic: topic, Got: "does not exist any more", Err: kafkalog.ErrUnknownTopic,
					Fix: "recreate it with tollgate change --create-topics; no run needs the lost records"})
		}
	}
	for _, topic := range []string{out.Ledger, out.Counts, out.Turns} {
		hasRecords, err := HoldsRecords(ctx, client, topic, missing)
		switch {
		case err != nil:
			return nil, err
		case hasRecords && !control:
			return []*deployment.TopicError{{Topic: out.Control,
				Got: fmt.Sprintf("%s, but topic %s holds records", state, topic), Err: deployment.ErrLogFault,
				Fix: "control was lost, or the topics belong to different deployments: restore control, or begin a " +
					"new deployment with new keys and with new topic names"}}, nil
		case control && missing[topic] && topic != out.Turns:
			addMissing(topic, "if the name is new, create the topic with tollgate change --create-topics; if the "+
				"topic was lost, restore it, or begin a new deployment with new keys, because an empty topic does not "+
				"contain what was published or decided")
		}
	}
	return mismatched, nil
}

// HoldsRecords reports whether a topic has ever contained records. For topics in missing, which may
// be nil, it returns false.
func HoldsRecords(ctx context.Context, client *kafkalog.Client, topic string, missing map[string]bool) (bool, error) {
	if missing[topic] {
		return false, nil
	}
	ids, err := client.Partitions(ctx, topic)
	if err != nil {
		return false, fmt.Errorf("checking the topics: %w", err)
	}
	for _, id := range ids {
		bounds, err := client.Offsets(ctx, topic, id)
		if err != nil {
			return false, fmt.Errorf("checking the topics: %w", err)
		}
		if bounds.High > 0 {
			return true, nil
		}
	}
	return false, nil
}
