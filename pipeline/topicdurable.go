package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
)

// ErrStrict says that the topics would do, and are refused because strictness was asked for: what is acknowledged could be lost
// with one broker. It comes with ErrTopicSettings.
var ErrStrict = errors.New("refused because of strictness")

// settingReplication is not one of Kafka's settings: a property of the topic.
const settingReplication = "replication factor"

// CheckOptions say how topics are looked at.
type CheckOptions struct {
	Logger *slog.Logger // told what could be better; default: discards
	// Strict refuses topics that one broker's end can take acknowledged records from, which is else only warned of.
	Strict bool

	// Start also looks at the deployment that control holds, if it holds one, as a run does before it starts.
	Start bool

	disposable bool
}

// durable looks at how many replicas a write must have reached before it is acknowledged. The client asks for all that are in
// sync: with one of them, what one broker loses was acknowledged, and published or charged, all the same.
func durable(t *topicState) {
	least, err := strconv.Atoi(t.setting(settingMinInSync))
	if t.replicas == 0 || err != nil {
		return // the broker does not say
	}
	if t.replicas == 1 {
		t.weak(settingReplication, "1", "3",
			"what its one broker loses is lost: kafka-reassign-partitions.sh gives a topic more replicas, runner init --create-topics --replication 3 makes new ones with them")
	}
	enough := strconv.Itoa(min(2, t.replicas))
	switch {
	case least > t.replicas: // Kafka 4 takes the number of replicas instead
		t.weak(settingMinInSync, strconv.Itoa(least), fmt.Sprintf("at most the replication factor, %d", t.replicas),
			"brokers before Kafka 4 refuse every write: "+t.alter(settingMinInSync, enough))
	case least < 2 && t.replicas > 1:
		t.weak(settingMinInSync, strconv.Itoa(least), "2 or more",
			"a write is acknowledged that only one broker has, and what it loses is lost: "+t.alter(settingMinInSync, enough))
	}
}

// weak notes what is refused only where somebody wants to be strict.
func (t *topicState) weak(setting, got, want, fix string) {
	t.weaknesses = append(t.weaknesses, &TopicError{Topic: t.name, Setting: setting, Got: got, Want: want, Fix: fix, Err: ErrStrict})
}

// alone says that a replica more has no place: there is one broker.
func (t *topicState) alone(e *TopicError) bool {
	return e.Setting == settingReplication && t.brokers == 1
}

// weaknesses are the refusals of a strict look; else they are told. On a cluster of one broker every topic has one replica, which
// is said once.
func weaknesses(states []*topicState, o CheckOptions) []*TopicError {
	if o.disposable {
		return nil
	}
	var refused []*TopicError
	said := false
	for _, t := range states {
		if t == nil {
			continue
		}
		for _, w := range t.weaknesses {
			switch {
			case o.Strict:
				refused = append(refused, w)
			case !t.alone(w):
				o.Logger.Warn(fmt.Sprintf("topic %s: %s is %s, it should be %s: %s", w.Topic, w.Setting, w.Got, w.Want, w.Fix))
			case !said:
				said = true
				o.Logger.Warn("the cluster has one broker: what it loses is lost, and with control or ledger the deployment; for more than trying things out use three brokers, and three replicas of every topic")
			}
		}
	}
	return refused
}
