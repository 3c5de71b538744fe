package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// TopicError says what is wrong with a topic and how to put it right.
type TopicError struct {
	Topic   string
	Setting string // Kafka's name of it, or "partitions"; "" when the topic itself is the matter
	Got     string
	Want    string
	Fix     string
	Err     error // a more special reason; may be nil
}

// Error implements error.
func (e *TopicError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("topic %s %s: %s", e.Topic, e.Got, e.Fix)
	}
	return fmt.Sprintf("topic %s: %s is %s, it must be %s: %s", e.Topic, e.Setting, e.Got, e.Want, e.Fix)
}

// Unwrap makes every TopicError an ErrTopicSettings.
func (e *TopicError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrTopicSettings}
	}
	return []error{ErrTopicSettings, e.Err}
}

// CheckTopics looks at the deployment's topics, and at the newest schema of a
// registry, and returns everything that a run would refuse, joined: one
// *TopicError for each topic's setting. What could be better is told to the
// logger. It changes nothing. Other errors: ErrStrict beside ErrTopicSettings
// when there is nothing but what CheckOptions.Strict refuses; ErrLogFault when the
// topics do not belong together, ErrPromiseWeakened, *schemas.FormatError in a
// schema that lacks a field, and what broker and registry said. With
// CheckOptions.Start also ErrHeaderMismatch where the configuration can never be
// that of the deployment, and ErrStopped; one that a change could put in force is
// told to the logger. Whether the events that a run needs are there only READ finds.
func CheckTopics(ctx context.Context, d *Deployment, o CheckOptions) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	_, unreadable := newDecoder(d, ctx, o.Logger)
	return errors.Join(checkTopics(d, ctx, client, o), unreadable, checkDeployment(d, ctx, client, o))
}

// checkDeployment looks at the deployment that control holds. Where it cannot be
// opened, the rules of topics have said so, or init has not been run.
func checkDeployment(d *Deployment, ctx context.Context, client *klog.Client, o CheckOptions) error {
	t, err := openTail(ctx, client, d, slog.New(slog.DiscardHandler))
	switch {
	case errors.Is(err, ErrLogFault):
		return err
	case err != nil:
		return nil //nolint:nilerr // see above
	}
	if err := promiseKept(d, ctx, t); err != nil || !o.Start {
		return err
	}
	want := headerOf(d)
	if all := differences(t.header, &want); len(all) > 0 {
		err := agrees(d, t.header)
		if all[0].Never != "" {
			return err
		}
		o.Logger.Warn(fmt.Sprintf("the configuration is not the one in force, and a run refuses it: %v (runner change --dry-run lists all differences)", err))
	}
	var stop *schemas.Stop
	t.look(func(v *view) { stop = v.stop })
	if stop != nil {
		return stopped(stop)
	}
	return intact(d, ctx, client, t)
}

func checkTopics(d *Deployment, ctx context.Context, client *klog.Client, o CheckOptions) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var found []error
	missing := map[string]bool{}
	rules := rulesOfTopics(d)
	states, failures := lookAtAll(d, ctx, client, rules)
	for i, t := range states {
		var wrong *TopicError
		switch err := failures[i]; {
		case errors.As(err, &wrong):
			missing[rules[i].topic] = errors.Is(err, klog.ErrUnknownTopic)
			found = append(found, wrong)
			continue
		case err != nil:
			return err
		}
		for _, rule := range rules[i].rules {
			rule(t)
		}
		for _, w := range t.warnings {
			o.Logger.Warn(w)
		}
		found = append(found, t.found...)
	}
	apart, err := belongTogether(d, ctx, client, missing)
	if err != nil {
		return err
	}
	for _, one := range apart {
		// It says more than that the topic does not exist, and another thing to do.
		found = slices.DeleteFunc(found, func(err error) bool {
			var t *TopicError
			return errors.As(err, &t) && t.Topic == one.Topic && errors.Is(err, klog.ErrUnknownTopic)
		})
		found = append(found, one)
	}
	more := len(found) > 0 // than strictness is the matter
	for _, w := range weaknesses(states, o) {
		if more {
			w.Err = nil
		}
		found = append(found, w)
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("checking the topics: %w", errors.Join(found...))
}

// lookAtAll looks at all topics at once: for one that is not there the client
// waits a little, because brokers learn of new ones late.
func lookAtAll(d *Deployment, ctx context.Context, client *klog.Client, rules []rulesOfTopic) ([]*topicState, []error) {
	states, failures := make([]*topicState, len(rules)), make([]error, len(rules))
	var all sync.WaitGroup
	for i := range rules {
		all.Go(func() { states[i], failures[i] = lookAt(d, ctx, client, rules[i].topic) })
	}
	all.Wait()
	return states, failures
}

// lookAt asks for everything that the rules need. A *TopicError: it cannot be
// had.
func lookAt(d *Deployment, ctx context.Context, client *klog.Client, name string) (*topicState, error) {
	t := &topicState{name: name, broker: d.Config.Kafka.Brokers[0]}
	ids, err := client.Partitions(ctx, name)
	if errors.Is(err, klog.ErrUnknownTopic) {
		fix := "create it with runner init --create-topics, or correct its name under outputs"
		if name == d.Config.Events.Topic {
			fix = "create it, or --create-topics --event-partitions N with runner init, or correct events.topic"
		}
		return nil, &TopicError{Topic: name, Got: "does not exist", Fix: fix, Err: klog.ErrUnknownTopic}
	}
	if err != nil {
		return nil, fmt.Errorf("checking the topics: %w", err)
	}
	t.partitions = len(ids)
	if t.replicas, t.brokers, err = client.Replication(ctx, name); err != nil {
		return nil, fmt.Errorf("checking the topics: %w", err)
	}
	t.settings, err = client.TopicConfig(ctx, name)
	if errors.Is(err, klog.ErrForbidden) {
		return nil, &TopicError{Topic: name, Got: "does not let this user see its settings", Fix: "allow the user DescribeConfigs on the topic", Err: klog.ErrForbidden}
	}
	if err != nil {
		return nil, fmt.Errorf("checking the topics: %w", err)
	}
	return t, nil
}

// belongTogether looks for topics that cannot stem from one deployment: one is
// empty or missing while another holds what can only have been written after
// it.
func belongTogether(d *Deployment, ctx context.Context, client *klog.Client, missing map[string]bool) ([]*TopicError, error) {
	out := &d.Config.Outputs
	control, err := holdsRecords(ctx, client, out.Control, missing)
	if err != nil {
		return nil, err
	}
	state := "is empty"
	if missing[out.Control] {
		state = "does not exist"
	}
	var apart []*TopicError
	gone := func(topic, fix string) {
		apart = append(apart, &TopicError{Topic: topic, Got: fmt.Sprintf("does not exist and topic %s holds records", out.Control), Err: ErrLogFault, Fix: fix})
	}
	if topic := d.Config.Events.Topic; control && missing[topic] {
		gone(topic, "if it was lost, restore it: one that is made anew is refused once a turn is settled; else correct events.topic")
	}
	for _, topic := range []string{out.Ledger, out.Counts} {
		held, err := holdsRecords(ctx, client, topic, missing)
		switch {
		case err != nil:
			return nil, err
		case held && !control:
			return []*TopicError{{Topic: out.Control, Got: fmt.Sprintf("%s and topic %s holds records", state, topic), Err: ErrLogFault,
				Fix: "control was lost, or they do not belong together; restore it, or begin a new deployment with topics of other names"}}, nil
		case control && missing[topic]:
			gone(topic, "if this is a new name, runner change --create-topics makes it; if it was lost, restore it, or begin a new deployment: a topic made anew holds nothing of what was published or decided")
		}
	}
	return apart, nil
}

// holdsRecords says whether anything was ever written to a topic.
func holdsRecords(ctx context.Context, client *klog.Client, topic string, missing map[string]bool) (bool, error) {
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
