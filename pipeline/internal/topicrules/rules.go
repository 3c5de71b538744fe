package topicrules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// minMaxMessage is the size of the largest batch that the client writes.
	minMaxMessage = kafkalog.DefaultBatchBytes
	// defaultMaxMessage is Kafka's own default for max.message.bytes.
	defaultMaxMessage = "1048588"
)

// kafkaDefault returns Kafka's default for a setting, for brokers that do not report the setting.
func kafkaDefault(setting string) string {
	return map[string]string{
		CleanupPolicy: "delete", Retention: "604800000", RetentionBytes: forEver, TimestampType: "CreateTime",
		MaxMessageBytes: defaultMaxMessage, UncleanElections: "false", MinInSync: "1",
	}[setting]
}

// state is what the broker says about a topic, and the faults found.
type state struct {
	name       string
	broker     string // bootstrap server of the commands in messages
	partitions int
	replicas   int // of the partition with the fewest replicas; 0: unknown
	brokers    int // number in the cluster
	settings   map[string]string
	faults     []error
	weaknesses []*deployment.TopicError
	warnings   []string
}

// topicRule checks a topic and records its faults.
type topicRule func(*state)

type rulesOfTopic struct {
	topic string
	rules []topicRule
}

// rulesOfTopics returns the rules for every topic of the deployment. docs/runbook.md contains them
// as a table.
func rulesOfTopics(d *deployment.Deployment) []rulesOfTopic {
	out, retention := &d.Config.Outputs, neededRetention(d)
	return []rulesOfTopic{
		{d.Config.Events.Topic, []topicRule{
			timestampRule(d),
			notCompacted("compaction removes events, which then do not count, even if a restart needs them again"),
			retentionRule(retention), eventBytesRule(d), warnUnclean,
		}},
		{out.Control, []topicRule{
			partitionsRule(1,
				"before init, name another topic under outputs.control; once the deployment has begun, restore this "+
					"topic from a copy (docs/failover.md)"),
			notCompacted("compaction would remove parts of the control log"), keptForEver,
			safeElections, maxMessageRule, durable,
		}},
		{out.Ledger, []topicRule{
			partitionsRule(d.Config.Shards,
				"before init, set shards to that number; later, name another topic under outputs.ledger and make the "+
					"change with tollgate change --create-topics"),
			onlyCompacted, safeElections, maxMessageRule, durable,
		}},
		{out.Counts, []topicRule{
			partitionsRule(d.Config.ReleaseShards,
				"before init, set release_shards to that number; later, name another topic under outputs.counts and "+
					"make the change with tollgate change --create-topics"),
			// The topic may be compacted, because the value of a key never changes.
			retentionRule(retention), bytesRule(""), maxMessageRule, durable,
		}},
		{out.Turns, []topicRule{
			partitionsRule(1,
				"name another topic under outputs.turns; once the deployment has begun, make the change with "+
					"tollgate change --create-topics"),
			notCompacted("compaction would keep the end of only one turn"), maxMessageRule, durable,
		}},
		{out.DeadLetter, []topicRule{
			notCompacted("a compacted topic refuses records without a key"), maxMessageRule, durable,
		}},
	}
}

func (t *state) setting(name string) string {
	if v, ok := t.settings[name]; ok {
		return v
	}
	return kafkaDefault(name)
}

func (t *state) policies() []string {
	var list []string
	for p := range strings.SplitSeq(t.setting(CleanupPolicy), ",") {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

func (t *state) compacted() bool { return slices.Contains(t.policies(), "compact") }

// alter returns the shell command that changes a setting of the topic.
func (t *state) alter(setting, value string) string {
	return fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s "+
		"--add-config %s=%s", t.broker, t.name, setting, value)
}

func (t *state) addFault(setting, want, fix string) {
	got := cmp.Or(t.setting(setting), "empty")
	t.faults = append(t.faults, &deployment.TopicError{Topic: t.name, Setting: setting, Got: got, Want: want, Fix: fix})
}

func timestampRule(d *deployment.Deployment) topicRule {
	return func(t *state) {
		if d.Config.Time.Trust == deployment.TrustBroker && t.setting(TimestampType) != appendTimes {
			t.addFault(TimestampType, appendTimes+" with time.trust: broker",
				t.alter(TimestampType, appendTimes)+" (existing records keep their times: start after them); before "+
					"init, you can set time.trust: producer instead, which is a weaker promise")
		}
	}
}

func notCompacted(why string) topicRule {
	return func(t *state) {
		if t.compacted() {
			t.addFault(CleanupPolicy, "delete", why+": "+t.alter(CleanupPolicy, "delete"))
		}
	}
}

// onlyCompacted reports deletion by age or size, which would delete accounts of inactive users.
func onlyCompacted(t *state) {
	if p := t.policies(); len(p) != 1 || p[0] != "compact" {
		t.addFault(CleanupPolicy, "compact and nothing else",
			"otherwise accounts are lost: "+t.alter(CleanupPolicy, "compact"))
	}
}

func partitionsRule(want int, fix string) topicRule {
	return func(t *state) {
		if t.partitions != want {
			t.faults = append(t.faults, &deployment.TopicError{Topic: t.name, Setting: partitionCount,
				Got: strconv.Itoa(t.partitions), Want: strconv.Itoa(want), Fix: fix, Err: deployment.ErrHeaderMismatch})
		}
	}
}

// safeElections reports that unclean elections are allowed. They can lose the ledger records of a
// published turn, and its users are then never charged.
func safeElections(t *state) {
	if t.setting(UncleanElections) == "true" {
		t.addFault(UncleanElections, "false", "an unclean election could lose records of published values: "+
			t.alter(UncleanElections, "false"))
	}
}

func maxMessageRule(t *state) {
	if n, err := strconv.Atoi(t.setting(MaxMessageBytes)); err != nil || n < minMaxMessage {
		want := strconv.Itoa(minMaxMessage)
		t.addFault(MaxMessageBytes, want+" or more",
			"a large turn could not be written: "+t.alter(MaxMessageBytes, want))
	}
}

func warnUnclean(t *state) {
	if t.setting(UncleanElections) == "true" {
		t.warnings = append(t.warnings, fmt.Sprintf("topic %s: %s is true, so an unclean election can replace "+
			"records: a restart that notices this fails", t.name, UncleanElections))
	}
}
