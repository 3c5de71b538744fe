package topicrules

import (
	"fmt"
	"maps"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Topic settings by their names in Kafka.
const (
	CleanupPolicy    = "cleanup.policy"
	Retention        = "retention.ms"
	RetentionBytes   = "retention.bytes"
	TimestampType    = "message.timestamp.type"
	MaxMessageBytes  = "max.message.bytes"
	UncleanElections = "unclean.leader.election.enable"
	MinInSync        = "min.insync.replicas"
	partitionCount   = "partitions" // not one of Kafka's settings, but a property of the topic

	appendTimes = "LogAppendTime"
	forEver     = "-1"
)

// Specs returns the deployment's topics with all settings that a restart needs, even those that
// equal Kafka's defaults, because a broker's defaults may differ or change. eventPartitions 0
// leaves out the events topic; replication 0 uses the broker's default.
func Specs(d *deployment.Deployment, eventPartitions, replication int) []kafkalog.TopicSpec {
	out := &d.Config.Outputs
	base := map[string]string{MaxMessageBytes: defaultMaxMessage}
	if replication >= 3 {
		base[MinInSync] = "2"
	}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(base)
		maps.Copy(all, more)
		return all
	}
	keepAll := map[string]string{CleanupPolicy: "delete", Retention: forEver, RetentionBytes: forEver}
	cleanElections := map[string]string{UncleanElections: "false"}
	control := with(keepAll)
	maps.Copy(control, cleanElections)
	control[TimestampType] = appendTimes // a run compares its clock with append times
	ledger := with(cleanElections)
	ledger[CleanupPolicy] = "compact"
	specs := []kafkalog.TopicSpec{
		{Name: out.Control, Partitions: 1, Replication: replication, Config: control},
		{Name: out.Ledger, Partitions: d.Config.Shards, Replication: replication, Config: ledger},
		{Name: out.Counts, Partitions: d.Config.ReleaseShards, Replication: replication, Config: with(keepAll)},
		{Name: out.Turns, Partitions: 1, Replication: replication, Config: with(keepAll)},
		{Name: out.DeadLetter, Partitions: 1, Replication: replication, Config: with(keepAll)},
	}
	if eventPartitions > 0 {
		events := maps.Clone(keepAll)
		if d.Config.Time.Trust == deployment.TrustBroker {
			events[TimestampType] = appendTimes
		}
		specs = append(specs, kafkalog.TopicSpec{Name: d.Config.Events.Topic, Partitions: eventPartitions,
			Replication: replication, Config: events})
	}
	return specs
}

// RecreateDeadLetter returns the remedy for a deleted dead-letter topic, with the command that
// recreates the topic.
func RecreateDeadLetter(d *deployment.Deployment) string {
	return fmt.Sprintf("recreate it: kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions 1 "+
		"--config %s=%s --config %s=%s --config %s=%s", d.Config.Kafka.Brokers[0], d.Config.Outputs.DeadLetter,
		Retention, forEver, RetentionBytes, forEver, MaxMessageBytes, defaultMaxMessage)
}
