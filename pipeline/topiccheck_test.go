package pipeline

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
)

// makeTopics creates a deployment's topics as CreateTopics would, with changes: a nil spec leaves
// the topic out.
func makeTopics(t *testing.T, cfg deployment.Config, change func(specs map[string]*kafkalog.TopicSpec)) *deployment.Deployment {
	t.Helper()
	d, err := deployment.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]*kafkalog.TopicSpec{}
	for _, s := range topicrules.Specs(d, 2, 1) {
		specs[strings.TrimPrefix(s.Name, d.Config.Deployment+"-")] = &s
	}
	if change != nil {
		change(specs)
	}
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, s := range specs {
		if s == nil {
			continue
		}
		if err := client.CreateTopics(t.Context(), *s); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

type specs = map[string]*kafkalog.TopicSpec

// set changes one setting of a topic.
func set(topic, setting, value string) func(specs) {
	return func(s specs) { s[topic].Config[setting] = value }
}

// refusals are the exact texts, with BROKER for its address.
var refusals = []struct {
	name   string
	change func(specs)
	config func(*deployment.Config)
	says   []string
}{
	{name: "as they are made"},
	{
		name: "events are missing", change: func(s specs) { delete(s, "events") },
		says: []string{"topic events does not exist: create it, let tollgate init --create-topics --event-partitions N make it, or correct events.topic"},
	},
	{
		name: "everything of ours is missing",
		change: func(s specs) {
			maps.DeleteFunc(s, func(name string, _ *kafkalog.TopicSpec) bool { return name != "events" })
		},
		says: []string{
			"topic tollgate-control does not exist: create it with tollgate init --create-topics, or correct its name under outputs",
			"topic tollgate-ledger does not exist: create it with tollgate init --create-topics, or correct its name under outputs",
			"topic tollgate-counts does not exist: create it with tollgate init --create-topics, or correct its name under outputs",
			"topic tollgate-turns does not exist: create it with tollgate init --create-topics, or correct its name under outputs",
			"topic tollgate-dead-letter does not exist: create it with tollgate init --create-topics, or correct its name under outputs",
		},
	},
	{
		name: "broker times without append times", change: func(s specs) { delete(s["events"].Config, topicrules.TimestampType) },
		config: func(c *deployment.Config) { c.Time = deployment.Time{Trust: deployment.TrustBroker} },
		says: []string{"topic events: message.timestamp.type is CreateTime, it must be LogAppendTime with time.trust: broker: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name events --add-config message.timestamp.type=LogAppendTime " +
			"(existing records keep their times: start after them); before init, you can set time.trust: producer instead, which is a weaker promise"},
	},
	{name: "broker times with append times", config: func(c *deployment.Config) { c.Time = deployment.Time{Trust: deployment.TrustBroker} }},
	{
		name: "compacted events", change: set("events", topicrules.CleanupPolicy, "compact,delete"),
		says: []string{"topic events: cleanup.policy is compact,delete, it must be delete: compaction removes events, which then do not count, also if a restart needs them again: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name events --add-config cleanup.policy=delete"},
	},
	{
		name: "short retention of events", change: set("events", topicrules.Retention, "3599999"),
		says: []string{"topic events: retention.ms is 3599999, it must be 3600000 (1h0m0s) or more, or -1: a restart could miss records that it needs: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name events --add-config retention.ms=3600000"},
	},
	{name: "just enough retention of events", change: set("events", topicrules.Retention, "3600000")},
	{
		name: "retention too short for the lateness", change: set("events", topicrules.Retention, "86400000"),
		config: func(c *deployment.Config) {
			c.Time = deployment.Time{Trust: deployment.TrustProducer, Lateness: 12 * time.Hour}
		},
		says: []string{"topic events: retention.ms is 86400000, it must be 129960000 (36h6m0s) or more, or -1: a restart could miss records that it needs: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name events --add-config retention.ms=129960000"},
	},
	{
		name: "events may be forgotten by size", change: set("events", topicrules.RetentionBytes, "1000000"),
		says: []string{"topic events: retention.bytes is 1000000, it must be -1: a restart could miss records that it needs: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name events --add-config retention.bytes=-1, " +
			"or set events.accept_size_retention: true and make sure that records last for days"},
	},
	{
		name: "counts may be forgotten by size", change: set("counts", topicrules.RetentionBytes, "1000000"),
		says: []string{"topic tollgate-counts: retention.bytes is 1000000, it must be -1: a restart could miss records that it needs: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-counts --add-config retention.bytes=-1"},
	},
	{name: "unclean elections of events", change: set("events", topicrules.UncleanElections, "true")}, // a warning
	{
		name: "control may forget by age", change: set("control", topicrules.Retention, "604800000"),
		says: []string{"topic tollgate-control: retention.ms is 604800000, it must be -1: control must keep its records for ever: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-control --add-config retention.ms=-1"},
	},
	{
		name: "control may forget by size", change: set("control", topicrules.RetentionBytes, "1000"),
		says: []string{"topic tollgate-control: retention.bytes is 1000, it must be -1: control must keep its records for ever: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-control --add-config retention.bytes=-1"},
	},
	{
		name: "compacted control", change: set("control", topicrules.CleanupPolicy, "compact"),
		says: []string{"topic tollgate-control: cleanup.policy is compact, it must be delete: compaction would remove parts of the control log: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-control --add-config cleanup.policy=delete"},
	},
	{
		name: "control in parts", change: func(s specs) { s["control"].Partitions = 2 },
		says: []string{"topic tollgate-control: partitions is 2, it must be 1: before init, name another topic under outputs.control; once the deployment has begun, restore this topic from a copy (docs/failover.md)"},
	},
	{
		name: "unclean elections of control", change: set("control", topicrules.UncleanElections, "true"),
		says: []string{"topic tollgate-control: unclean.leader.election.enable is true, it must be false: an unclean election could lose records of published values: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-control --add-config unclean.leader.election.enable=false"},
	},
	{
		name: "ledger not compacted", change: set("ledger", topicrules.CleanupPolicy, "delete"),
		says: []string{"topic tollgate-ledger: cleanup.policy is delete, it must be compact and nothing else: otherwise accounts are lost: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-ledger --add-config cleanup.policy=compact"},
	},
	{
		name: "ledger compacted and deleted", change: set("ledger", topicrules.CleanupPolicy, "compact,delete"),
		says: []string{"topic tollgate-ledger: cleanup.policy is compact,delete, it must be compact and nothing else: otherwise accounts are lost: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-ledger --add-config cleanup.policy=compact"},
	},
	{
		name: "ledger of another deployment's shards", change: func(s specs) { s["ledger"].Partitions = 8 },
		says: []string{"topic tollgate-ledger: partitions is 8, it must be 4: before init, set shards to that number; later, name another topic under outputs.ledger and make the change with tollgate change --create-topics"},
	},
	{
		name: "ledger without room, with unclean elections",
		change: func(s specs) {
			s["ledger"].Config[topicrules.MaxMessageBytes] = "999999"
			s["ledger"].Config[topicrules.UncleanElections] = "true"
		},
		says: []string{
			"topic tollgate-ledger: unclean.leader.election.enable is true, it must be false: an unclean election could lose records of published values: " +
				"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-ledger --add-config unclean.leader.election.enable=false",
			"topic tollgate-ledger: max.message.bytes is 999999, it must be 1000000 or more: a large turn could not be written: " +
				"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-ledger --add-config max.message.bytes=1000000",
		},
	},
	{
		name: "compacted ends of turns", change: set("turns", topicrules.CleanupPolicy, "compact"),
		says: []string{"topic tollgate-turns: cleanup.policy is compact, it must be delete: compaction would keep the end of only one turn: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-turns --add-config cleanup.policy=delete"},
	},
	{name: "compacted counts", change: set("counts", topicrules.CleanupPolicy, "compact")},
	{name: "short retention of ends of turns", change: set("turns", topicrules.Retention, "1000")},
	{
		name: "short retention of counts", change: set("counts", topicrules.Retention, "1000"),
		says: []string{"topic tollgate-counts: retention.ms is 1000, it must be 3600000 (1h0m0s) or more, or -1: a restart could miss records that it needs: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-counts --add-config retention.ms=3600000"},
	},
	{
		name: "counts in other parts", change: func(s specs) { s["counts"].Partitions = 3 },
		says: []string{"topic tollgate-counts: partitions is 3, it must be 1: before init, set release_shards to that number; later, name another topic under outputs.counts and make the change with tollgate change --create-topics"},
	},
	{
		name: "compacted dead letters", change: set("dead-letter", topicrules.CleanupPolicy, "compact"),
		says: []string{"topic tollgate-dead-letter: cleanup.policy is compact, it must be delete: a compacted topic refuses records without a key: " +
			"kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-dead-letter --add-config cleanup.policy=delete"},
	},
}

// Everything that is wrong is told at once, with the fix, by CheckTopics, Init and Run alike.
func TestTopicsThatCouldLoseWhatPromisesRestOnAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			broker := deploytest.Start(t)
			cfg := deploytest.Config(broker.Addr())
			if tt.config != nil {
				tt.config(&cfg)
			}
			d := makeTopics(t, cfg, tt.change)
			want := ""
			if tt.says != nil {
				want = "checking the topics: " + strings.Join(tt.says, "\n")
			}
			for call, err := range map[string]error{
				"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}),
				"Init":        Init(t.Context(), d, InitOptions{Start: time.Unix(0, 0)}),
			} {
				got := ""
				if err != nil {
					got = strings.ReplaceAll(err.Error(), broker.Addr(), "BROKER")
				}
				if got != want {
					t.Errorf("%s says\n%s\nwant\n%s", call, got, want)
				}
				var wrong *deployment.TopicError
				if err != nil && (!errors.Is(err, deployment.ErrTopicSettings) || !errors.As(err, &wrong) || wrong.Topic == "") {
					t.Errorf("%s: %#v is no *TopicError", call, err)
				}
			}
			if tt.says == nil {
				return
			}
			if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); !errors.Is(err, deployment.ErrTopicSettings) {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

func TestAcceptedLimitsInBytesAndUncleanElectionsOfEventsAreWarnedOf(t *testing.T) {
	t.Parallel()
	broker := deploytest.Start(t)
	cfg := deploytest.Config(broker.Addr())
	cfg.Events.AcceptSizeRetention = true
	d := makeTopics(t, cfg, func(s specs) {
		s["events"].Config[topicrules.RetentionBytes] = "1000000"
		s["events"].Config[topicrules.UncleanElections] = "true"
	})
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var out bytes.Buffer
	if err := topicrules.Check(t.Context(), d, client, topicrules.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"topic events: retention.bytes is 1000000", "topic events: unclean.leader.election.enable is true"} {
		if strings.Count(out.String(), s) != 1 {
			t.Errorf("%q does not say %q once", out.String(), s)
		}
	}
}

func TestAnUnreachableBrokerIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	d, err := deployment.Compile(deploytest.Config(free.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	for call, err := range map[string]error{"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}), "Init": Init(t.Context(), d, InitOptions{})} {
		if !errors.Is(err, kafkalog.ErrUnreachable) || !strings.Contains(err.Error(), "broker "+free.Addr().String()+": nothing listens there: check that the broker is running and the port is right") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
