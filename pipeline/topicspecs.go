package pipeline

import (
	"maps"

	"github.com/tollgate-dp/tollgate/internal/klog"
)

// Topic settings by their Kafka name.
const (
	settingCleanup    = "cleanup.policy"
	settingRetention  = "retention.ms"
	settingBytes      = "retention.bytes"
	settingTimestamps = "message.timestamp.type"
	settingMaxMessage = "max.message.bytes"
	settingUnclean    = "unclean.leader.election.enable"
	settingMinInSync  = "min.insync.replicas"
	settingPartitions = "partitions" // not one of Kafka's: a property of the topic

	appendTimes = "LogAppendTime"
	forEver     = "-1"
)

// topicSpecs are the deployment's topics with the settings that a restart needs, said aloud: a broker's defaults may differ, and
// may change.
func specsOfTopics(d *Deployment, o TopicOptions) []klog.TopicSpec {
	out := &d.Config.Outputs
	base := map[string]string{settingMaxMessage: roomForMessages}
	if o.Replication >= 3 {
		base[settingMinInSync] = "2"
	}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(base)
		maps.Copy(all, more)
		return all
	}
	kept := map[string]string{settingCleanup: "delete", settingRetention: forEver, settingBytes: forEver}
	careful := map[string]string{settingUnclean: "false"}
	control := with(kept)
	maps.Copy(control, careful)
	ledger := with(careful)
	ledger[settingCleanup] = "compact"
	specs := []klog.TopicSpec{
		{Name: out.Control, Partitions: 1, Replication: o.Replication, Config: control},
		{Name: out.Ledger, Partitions: d.Config.Shards, Replication: o.Replication, Config: ledger},
		{Name: out.Counts, Partitions: d.Config.ReleaseShards, Replication: o.Replication, Config: with(kept)},
		{Name: out.DeadLetter, Partitions: 1, Replication: o.Replication, Config: with(kept)},
	}
	if o.EventPartitions > 0 {
		events := maps.Clone(kept)
		if d.Config.Time.Trust == TrustBroker {
			events[settingTimestamps] = appendTimes
		}
		specs = append(specs, klog.TopicSpec{Name: d.Config.Events.Topic, Partitions: o.EventPartitions, Replication: o.Replication, Config: events})
	}
	return specs
}
