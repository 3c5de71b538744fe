package topicrules

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// ReplicationFactor is the TopicError.Setting for the number of replicas, which Kafka does not
// count among a topic's settings.
const ReplicationFactor = "replication factor"

// Options control how topics are checked.
type Options struct {
	Logger     *slog.Logger // receives possible improvements; nil: discarded
	Strict     bool         // return errors for topics that are not durable, instead of warning
	Disposable bool         // do not check durability, because the topics end with the process

	WillCreate func(topic string) bool // reports whether the caller will create a missing topic; nil: never
}

// durable checks how many replicas must hold a record before Kafka acknowledges its write. The
// client requires acknowledgement by all in-sync replicas. If there is only one, a single broker
// can lose a record that was acknowledged, and that was then published or charged.
func durable(t *state) {
	minInSync, err := strconv.Atoi(t.setting(MinInSync))
	if t.replicas == 0 || err != nil {
		return // the broker does not report them
	}
	if t.replicas == 1 {
		t.addWeakness(ReplicationFactor, "1", "3",
			"its records are lost if its only broker loses them: "+t.moreReplicas())
	}
	fixed := strconv.Itoa(min(2, t.replicas))
	switch {
	case minInSync > t.replicas: // Kafka 4 uses the number of replicas instead
		t.addWeakness(MinInSync, strconv.Itoa(minInSync), fmt.Sprintf("at most the replication factor, %d", t.replicas),
			"brokers before Kafka 4 refuse every write: "+t.alter(MinInSync, fixed))
	case minInSync < 2 && t.replicas > 1:
		t.addWeakness(MinInSync, strconv.Itoa(minInSync), "2 or more", "Kafka acknowledges writes that only one "+
			"broker has, and if it loses them they are gone: "+t.alter(MinInSync, fixed))
	}
}

// moreReplicas returns the remedy for too few replicas, each of which needs its own broker.
func (t *state) moreReplicas() string {
	const fix = "kafka-reassign-partitions.sh gives an existing topic more replicas, and tollgate init " +
		"--create-topics --replication 3 creates topics with three"
	if t.brokers >= 3 {
		return fix
	}
	present := "one broker"
	if t.brokers == 2 {
		present = "two brokers"
	}
	return "three replicas need three brokers, but the cluster has " + present + ": add brokers first; then " + fix
}

// addWeakness records a fault that is an error only with Options.Strict.
func (t *state) addWeakness(setting, got, want, fix string) {
	t.weaknesses = append(t.weaknesses, &deployment.TopicError{Topic: t.name, Setting: setting, Got: got, Want: want,
		Fix: fix, Err: deployment.ErrStrict})
}

// onlyBroker reports whether a fault is that the cluster has only one broker.
func (t *state) onlyBroker(e *deployment.TopicError) bool {
	return e.Setting == ReplicationFactor && t.brokers == 1
}

// weaknesses returns the faults that are errors only with Options.Strict. Without it, they are
// logged as warnings. If the cluster has one broker, all topics have one replica: this is logged
// once.
func weaknesses(states []*state, o Options) []*deployment.TopicError {
	if o.Disposable {
		return nil
	}
	var faults []*deployment.TopicError
	reported := false
	for _, t := range states {
		if t == nil {
			continue
		}
		for _, w := range t.weaknesses {
			switch {
			case o.Strict:
				faults = append(faults, w)
			case !t.onlyBroker(w):
				o.Logger.Warn(fmt.Sprintf("topic %s: %s is %s, but should be %s: %s", w.Topic, w.Setting, w.Got, w.Want,
					w.Fix))
			case !reported:
				reported = true
				o.Logger.Warn("the cluster has one broker: if it loses control or ledger, the deployment is lost. In " +
					"production, use three brokers and three replicas of every topic")
			}
		}
	}
	return faults
}
