package topicrules

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// ReplicationFactor names the number of replicas in texts: a property of the topic, not one of
// Kafka's settings.
const ReplicationFactor = "replication factor"

// Options control how topics are checked.
type Options struct {
	Logger     *slog.Logger // receives what could be better; default: discards
	Strict     bool         // refuse what Check otherwise only warns of
	Disposable bool         // the topics end with the process: do not report how durable they are

	Made func(topic string) bool // reports which topics are to be created if they do not exist; nil: none
}

// durable checks how many replicas a write must have reached before it is acknowledged. The client
// asks for all that are in sync: with one replica in sync, a record that one broker loses had been
// acknowledged, and published or charged.
func durable(t *state) {
	least, err := strconv.Atoi(t.setting(MinInSync))
	if t.replicas == 0 || err != nil {
		return // the broker does not report it
	}
	if t.replicas == 1 {
		t.weak(ReplicationFactor, "1", "3", "its records are lost if its only broker loses them: "+t.moreReplicas())
	}
	enough := strconv.Itoa(min(2, t.replicas))
	switch {
	case least > t.replicas: // Kafka 4 takes the number of replicas instead
		t.weak(MinInSync, strconv.Itoa(least), fmt.Sprintf("at most the replication factor, %d", t.replicas),
			"brokers before Kafka 4 refuse every write: "+t.alter(MinInSync, enough))
	case least < 2 && t.replicas > 1:
		t.weak(MinInSync, strconv.Itoa(least), "2 or more", "Kafka acknowledges writes that only one broker has, and "+
			"if it loses them they are gone: "+t.alter(MinInSync, enough))
	}
}

// moreReplicas returns what gives the topic three replicas: no broker has two of them.
func (t *state) moreReplicas() string {
	const fix = "kafka-reassign-partitions.sh gives an existing topic more replicas, and tollgate init " +
		"--create-topics --replication 3 creates topics with three"
	if t.brokers >= 3 {
		return fix
	}
	have := "one broker"
	if t.brokers == 2 {
		have = "two brokers"
	}
	return "three replicas need three brokers, and the cluster has " + have + ": add brokers first; then " + fix
}

// weak notes what Check refuses only with Options.Strict.
func (t *state) weak(setting, got, want, fix string) {
	t.weaknesses = append(t.weaknesses, &deployment.TopicError{Topic: t.name, Setting: setting, Got: got, Want: want,
		Fix: fix, Err: deployment.ErrStrict})
}

// alone reports that the cluster has one broker, so that there is none for another replica.
func (t *state) alone(e *deployment.TopicError) bool {
	return e.Setting == ReplicationFactor && t.brokers == 1
}

// weaknesses returns the faults that only a strict check refuses; any other check warns of them. On
// a cluster of one broker every topic has one replica, which is reported once.
func weaknesses(states []*state, o Options) []*deployment.TopicError {
	if o.Disposable {
		return nil
	}
	var refused []*deployment.TopicError
	reported := false
	for _, t := range states {
		if t == nil {
			continue
		}
		for _, w := range t.weaknesses {
			switch {
			case o.Strict:
				refused = append(refused, w)
			case !t.alone(w):
				o.Logger.Warn(fmt.Sprintf("topic %s: %s is %s, it should be %s: %s", w.Topic, w.Setting, w.Got, w.Want,
					w.Fix))
			case !reported:
				reported = true
				o.Logger.Warn("the cluster has one broker: if it loses control or ledger, the deployment is lost. In " +
					"production, use three brokers and three replicas of every topic")
			}
		}
	}
	return refused
}
