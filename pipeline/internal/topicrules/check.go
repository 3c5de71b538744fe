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

// Check checks all topics of a deployment and returns all faults, joined: one
// *deployment.TopicError for each wrong setting, and one that wraps deployment.ErrLogFault for each
// topic that does not belong with the others. It logs possible improvements to o.Logger. Other
// errors are the broker's.
func Check(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o Options) error {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	var found []error
	rules := rulesOfTopics(d)
	seen, err := describeTopics(ctx, d, client, rules)
	if err == nil && len(seen.apart) > 0 {
		// An init or a run may have written between two requests, so only lasting faults count.
		seen, err = describeTopics(ctx, d, client, rules)
	}
	if err != nil {
		return err
	}
	for i, t := range seen.states {
		if t == nil {
			found = append(found, seen.wrong[i])
			continue
		}
		for _, rule := range rules[i].rules {
			rule(t)
		}
		for _, w := range t.warnings {
			o.Logger.Warn(w)
		}
		found = append(found, t.found...)
	}
	leaveOutMissing := func(selected func(topic string) bool) {
		found = slices.DeleteFunc(found, func(err error) bool {
			t, ok := errors.AsType[*deployment.TopicError](err)
			return ok && selected(t.Topic) && errors.Is(err, kafkalog.ErrUnknownTopic)
		})
	}
	for _, one := range seen.apart {
		// This error is more specific than a missing topic, and has another remedy.
		leaveOutMissing(func(topic string) bool { return topic == one.Topic })
		found = append(found, one)
	}
	if o.Made != nil {
		leaveOutMissing(o.Made)
	}
	otherFaults := len(found) > 0 // strictness is not the only reason
	for _, w := range weaknesses(seen.states, o) {
		if otherFaults {
			w.Err = nil
		}
		found = append(found, w)
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("checking the topics: %w", errors.Join(found...))
}

// described holds the state of each topic, or its error.
type described struct {
	states []*state
	wrong  []*deployment.TopicError
	apart  []*deployment.TopicError // topics that cannot belong to one deployment
}

// describeTopics describes all topics concurrently, because the client waits a little for each
// missing one: brokers learn of new topics late.
func describeTopics(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	rules []rulesOfTopic) (*described, error) {
	s := &described{make([]*state, len(rules)), make([]*deployment.TopicError, len(rules)), nil}
	failures := make([]error, len(rules))
	var all sync.WaitGroup
	for i := range rules {
		all.Go(func() { s.states[i], failures[i] = describeTopic(ctx, d, client, rules[i].topic) })
	}
	all.Wait()
	missing, unseen := map[string]bool{}, false
	for i, err := range failures {
		if err != nil && !errors.As(err, &s.wrong[i]) {
			return nil, err
		}
		if err != nil {
			missing[rules[i].topic] = errors.Is(err, kafkalog.ErrUnknownTopic)
			unseen = unseen || errors.Is(err, kafkalog.ErrForbidden)
		}
	}
	if unseen {
		return s, nil
	}
	var err error
	s.apart, err = checkSameDeployment(ctx, d, client, missing)
	return s, err
}

// MakeEvents is the remedy if the events topic does not exist.
const MakeEvents = "create it, let tollgate init --create-topics --event-partitions N make it, or correct events.topic"

// describeTopic requests everything that the rules need. It returns a *deployment.TopicError if the
// topic does not exist, or the broker denies access.
func describeTopic(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client,
	name string) (*state, error) {
	t := &state{name: name, broker: d.Config.Kafka.Brokers[0]}
	ids, err := client.Partitions(ctx, name)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		fix := "create it with tollgate init --create-topics, or correct its name under outputs"
		if name == d.Config.Events.Topic {
			fix = MakeEvents
		}
		return nil, &deployment.TopicError{Topic: name, Got: "does not exist", Fix: fix, Err: kafkalog.ErrUnknownTopic}
	}
	if err == nil {
		t.partitions = len(ids)
		t.replicas, t.brokers, err = client.Replication(ctx, name)
	}
	right := "Describe"
	if err == nil {
		right = "DescribeConfigs"
		t.settings, err = client.TopicConfig(ctx, name)
	}
	if errors.Is(err, kafkalog.ErrForbidden) {
		return nil, &deployment.TopicError{Topic: name, Got: "does not allow this user to read it",
			Fix: fmt.Sprintf("allow the user %s on the topic", right), Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("checking the topics: %w", err)
	}
	return t, nil
}

// checkSameDeployment looks for topics that cannot belong to one deployment: one is empty or
// missing although another contains records that are written later.
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
	var apart []*deployment.TopicError
	gone := func(topic, fix string) {
		apart = append(apart, &deployment.TopicError{Topic: topic,
			Got: fmt.Sprintf("does not exist, but topic %s holds records", out.Control), Err: deployment.ErrLogFault,
			Fix: fix})
	}
	if topic := d.Config.Events.Topic; control && missing[topic] {
		gone(topic, "if it was lost, restore it, because runs refuse a new one once a turn is settled; otherwise "+
			"correct events.topic")
	}
	for _, topic := range []string{out.Turns, out.DeadLetter} { // no run needs their old records
		if control && missing[topic] {
			apart = append(apart,
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
				Fix: "control was lost, or they belong to different deployments: restore control, or begin a new " +
					"deployment with new keys with topics of other names"}}, nil
		case control && missing[topic] && topic != out.Turns:
			gone(topic, "if the name is new, create the topic with tollgate change --create-topics; if the topic was "+
				"lost, restore it, or begin a new deployment with new keys, because an empty topic does not contain "+
				"what was published or decided")
		}
	}
	return apart, nil
}

// HoldsRecords reports whether a topic has ever contained records. It returns false for topics in
// missing, which may be nil.
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
