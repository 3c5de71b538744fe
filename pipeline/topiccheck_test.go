package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
)

// makeTopics creates a deployment's topics as CreateTopics would, with changes.
func makeTopics(t *testing.T, cfg deployment.Config,
	change func(specs map[string]*kafkalog.TopicSpec)) *deployment.Deployment {
	t.Helper()
	d := mustCompile(t, cfg)
	specs := map[string]*kafkalog.TopicSpec{}
	for _, s := range topicrules.Specs(d, 2, 1) {
		specs[strings.TrimPrefix(s.Name, d.Config.Deployment+"-")] = &s
	}
	if change != nil {
		change(specs)
	}
	client := dial(t, d)
	for _, s := range specs {
		must.Succeed(t, client.CreateTopics(t.Context(), *s))
	}
	return d
}

type specs = map[string]*kafkalog.TopicSpec

// set changes one setting of a topic.
func set(topic, setting, value string) func(specs) {
	return func(s specs) { s[topic].Config[setting] = value }
}

// CheckTopics, Init and Run alike refuse every setting that could break the guarantees, with the
// topic and the setting, and report all faults at once.
func TestTopicsThatCouldLoseWhatPromisesRestOnAreRefused(t *testing.T) {
	t.Parallel()
	brokerTimes := func(c *deployment.Config) { c.Time = deployment.Time{Trust: deployment.TrustBroker} }
	late := func(c *deployment.Config) {
		c.Time = deployment.Time{Trust: deployment.TrustProducer, Lateness: 12 * time.Hour}
	}
	type testCase struct {
		change func(specs)
		config func(*deployment.Config)
		says   []string // after "topic "
	}
	cases := map[string]testCase{
		"as they are made":   {},
		"events are missing": {change: func(s specs) { delete(s, "events") }, says: []string{"events does not exist"}},
		"everything of ours is missing": {
			change: func(s specs) {
				maps.DeleteFunc(s, func(name string, _ *kafkalog.TopicSpec) bool { return name != "events" })
			},
			says: []string{"tollgate-control does not exist", "tollgate-ledger does not exist",
				"tollgate-counts does not exist", "tollgate-turns does not exist",
				"tollgate-dead-letter does not exist"},
		},
		"no append times": {change: func(s specs) { delete(s["events"].Config, topicrules.TimestampType) },
			config: brokerTimes, says: []string{"events: message.timestamp.type is CreateTime"}},
		"append times": {config: brokerTimes},
		"too short for the lateness": {change: set("events", topicrules.Retention, "86400000"), config: late,
			says: []string{"events: retention.ms is 86400000, but must be 129960000"}},
		"ledger without room, and unclean": {change: func(s specs) {
			set("ledger", topicrules.MaxMessageBytes, "999999")(s)
			set("ledger", topicrules.UncleanElections, "true")(s)
		}, says: []string{"tollgate-ledger: unclean.leader",
			"tollgate-ledger: max.message.bytes is 999999, but must be 1000000 or more"}},
	}
	for topic, n := range map[string]struct{ partitions, must int }{"control": {2, 1}, "ledger": {8, 4},
		"counts": {3, 1}} {
		cases[topic+" in other parts"] = testCase{change: func(s specs) { s[topic].Partitions = n.partitions },
			says: []string{fmt.Sprintf("tollgate-%s: partitions is %d, but must be %d", topic, n.partitions, n.must)}}
	}
	for _, c := range []struct{ topic, setting, value, must string }{
		{"events", topicrules.CleanupPolicy, "compact,delete", "delete"},
		{"events", topicrules.Retention, "3599999", "3600000 (1h0m0s) or more, or -1"},
		{"events", topicrules.Retention, "3600000", ""},
		{"events", topicrules.RetentionBytes, "1000000", "-1"},
		{"events", topicrules.UncleanElections, "true", ""}, // a warning
		{"control", topicrules.Retention, "604800000", "-1"},
		{"control", topicrules.RetentionBytes, "1000", "-1"},
		{"control", topicrules.CleanupPolicy, "compact", "delete"},
		{"control", topicrules.UncleanElections, "true", "false"},
		{"ledger", topicrules.CleanupPolicy, "delete", "compact"},
		{"ledger", topicrules.CleanupPolicy, "compact,delete", "compact"},
		{"turns", topicrules.CleanupPolicy, "compact", "delete"},
		{"turns", topicrules.Retention, "1000", ""},
		{"counts", topicrules.CleanupPolicy, "compact", ""},
		{"counts", topicrules.Retention, "1000", "3600000"},
		{"counts", topicrules.RetentionBytes, "1000000", "-1"},
		{"dead-letter", topicrules.CleanupPolicy, "compact", "delete"},
	} {
		k := testCase{change: set(c.topic, c.setting, c.value)}
		if c.must != "" {
			name := strings.Replace("tollgate-"+c.topic, "tollgate-events", "events", 1)
			k.says = []string{fmt.Sprintf("%s: %s is %s, but must be %s", name, c.setting, c.value, c.must)}
		}
		cases[fmt.Sprintf("%s, %s: %s", c.topic, c.setting, c.value)] = k
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := deploytest.Config(deploytest.Start(t).Addr())
			if tt.config != nil {
				tt.config(&cfg)
			}
			d := makeTopics(t, cfg, tt.change)
			calls := map[string]error{"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}),
				"Init": Init(t.Context(), d, InitOptions{Start: time.Unix(0, 0)})}
			if tt.says != nil {
				_, calls["Run"] = Run(t.Context(), d, RunOptions{Bounded: true})
			}
			for call, err := range calls {
				var wrong *deployment.TopicError
				if (err != nil) != (tt.says != nil) || err != nil && (!errors.Is(err, deployment.ErrTopicSettings) ||
					!errors.As(err, &wrong) || strings.Count(err.Error(), "\n") != len(tt.says)-1) {
					t.Errorf("%s: %v", call, err)
				}
				for _, says := range tt.says {
					if err != nil && !strings.Contains(err.Error(), "topic "+says) {
						t.Errorf("%s: %v does not say %q", call, err, says)
					}
				}
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
	client := dial(t, d)
	var out bytes.Buffer
	must.Succeed(t, topicrules.Check(t.Context(), d, client,
		topicrules.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}))
	for _, s := range []string{"topic events: retention.bytes is 1000000",
		"topic events: unclean.leader.election.enable is true"} {
		if strings.Count(out.String(), s) != 1 {
			t.Errorf("%q does not say %q once", out.String(), s)
		}
	}
}

func TestAnUnreachableBrokerIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	free := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	free.Close()
	d := mustCompile(t, deploytest.Config(free.Addr().String()))
	for call, err := range map[string]error{"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}),
		"Init": Init(t.Context(), d, InitOptions{})} {
		if !errors.Is(err, kafkalog.ErrUnreachable) || !strings.Contains(err.Error(), "broker "+free.Addr().String()+
			": nothing listens there: check that the broker is running and the port is right") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
