package topicrules

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// ReplicationFactor is the TopicError.Setting for the number of replicas, although it is not one of
// Kafka's settings.
const ReplicationFactor = "replication factor"

// Options control how topics are checked.
type Options struct {
	Logger     *slog.Logger // receives possible improvements; nil: discarded
	Strict     bool         // return errors for topics that are not durable, instead of warning
	Disposable bool         // the topics end with the process: do not check their durability

	Made func(topic string) bool // reports whether a missing topic will be created; nil: none will
}

// durable checks how many replicas must have a record before its write is acknowledged. The client
// requires acknowledgement by all in-sync replicas: if there is only one, a single broker can lose
// a record that was acknowledged, and published or charged.
func durable(t *state) {
	least, err := strconv.Atoi(t.setting(MinInSync))
	if t.replicas == 0 || err != nil {
		return // the broker does not report them
	}
	if t.replicas == 1 {
		t.weak(ReplicationFactor, "1", "3", "its records are lost if its only broker loses them: "+t.moreReplicas())
	}
	enough := strconv.Itoa(min(2, t.replicas))
	switch {
	case least > t.replicas: // Kafka 4 uses the number of replicas instead
		t.weak(MinInSync, strconv.Itoa(least), fmt.Sprintf("at most the replication factor, %d", t.replicas),
			"brokers before Kafka 4 refuse every write: "+t.alter(MinInSync, enough))
	case least < 2 && t.replicas > 1:
		t.weak(MinInSync, strconv.Itoa(least), "2 or more", "Kafka acknowledges writes that only one broker has, and "+
			"if it loses them they are gone: "+t.alter(MinInSync, enough))
	}
}

// moreReplicas returns the remedy for too few replicas. Each replica needs its own broker.
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
	return "three replicas need three brokers, but the cluster has " + have + ": add brokers first; then " + fix
}

// weak records a fault that is an error only with Options.Strict.
func (t *state) weak(setting, got, want, fix string) {
	t.weaknesses = append(t.weaknesses, &deployment.TopicError{Topic: t.name, Setting: setting, Got: got, Want: want,
		Fix: fix, Err: deployment.ErrStrict})
}

// alone reports whether the fault is that the cluster has only one broker.
func (t *state) alone(e *deployment.TopicError) bool {
	return e.Setting == ReplicationFactor && t.brokers == 1
}

// weaknesses returns the faults that are errors only in a strict check; any other check logs them
// as warnings. On a cluster with one broker every topic has one replica, which is logged once.
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
				o.Logger.Warn(fmt.Sprintf("topic %s: %s is %s, but should be %s: %s", w.Topic, w.Setting, w.Got, w.Want,
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
