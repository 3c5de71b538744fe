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

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
)

// makeTopics creates a deployment's topics as CreateTopics would, with changes: a nil spec leaves
// the topic out.
func makeTopics(t *testing.T, cfg deployment.Config, change func(specs map[string]*kafkalog.TopicSpec)) *deployment.Deployment {
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

// Every setting that could lose what promises rest on is refused by CheckTopics, Init and Run
// alike, with the topic and the setting; all that is wrong is told at once.
func TestTopicsThatCouldLoseWhatPromisesRestOnAreRefused(t *testing.T) {
	t.Parallel()
	brokerTimes := func(c *deployment.Config) { c.Time = deployment.Time{Trust: deployment.TrustBroker} }
	for name, tt := range map[string]struct {
		change func(specs)
		config func(*deployment.Config)
		says   []string // after "topic "
	}{
		"as they are made":   {},
		"events are missing": {change: func(s specs) { delete(s, "events") }, says: []string{"events does not exist"}},
		"everything of ours is missing": {
			change: func(s specs) {
				maps.DeleteFunc(s, func(name string, _ *kafkalog.TopicSpec) bool { return name != "events" })
			},
			says: []string{"tollgate-control does not exist", "tollgate-ledger does not exist", "tollgate-counts does not exist", "tollgate-turns does not exist", "tollgate-dead-letter does not exist"},
		},
		"no append times":           {change: func(s specs) { delete(s["events"].Config, topicrules.TimestampType) }, config: brokerTimes, says: []string{"events: message.timestamp.type is CreateTime"}},
		"append times":              {config: brokerTimes},
		"compacted events":          {change: set("events", topicrules.CleanupPolicy, "compact,delete"), says: []string{"events: cleanup.policy is compact,delete, it must be delete"}},
		"short retention of events": {change: set("events", topicrules.Retention, "3599999"), says: []string{"events: retention.ms is 3599999, it must be 3600000 (1h0m0s) or more, or -1"}},
		"just enough retention":     {change: set("events", topicrules.Retention, "3600000")},
		"too short for the lateness": {change: set("events", topicrules.Retention, "86400000"), config: func(c *deployment.Config) {
			c.Time = deployment.Time{Trust: deployment.TrustProducer, Lateness: 12 * time.Hour}
		}, says: []string{"events: retention.ms is 86400000, it must be 129960000"}},
		"events forgotten by size":     {change: set("events", topicrules.RetentionBytes, "1000000"), says: []string{"events: retention.bytes is 1000000, it must be -1"}},
		"counts forgotten by size":     {change: set("counts", topicrules.RetentionBytes, "1000000"), says: []string{"tollgate-counts: retention.bytes is 1000000, it must be -1"}},
		"unclean elections of events":  {change: set("events", topicrules.UncleanElections, "true")}, // a warning
		"control forgets by age":       {change: set("control", topicrules.Retention, "604800000"), says: []string{"tollgate-control: retention.ms is 604800000, it must be -1"}},
		"control forgets by size":      {change: set("control", topicrules.RetentionBytes, "1000"), says: []string{"tollgate-control: retention.bytes is 1000, it must be -1"}},
		"compacted control":            {change: set("control", topicrules.CleanupPolicy, "compact"), says: []string{"tollgate-control: cleanup.policy is compact, it must be delete"}},
		"control in parts":             {change: func(s specs) { s["control"].Partitions = 2 }, says: []string{"tollgate-control: partitions is 2, it must be 1"}},
		"unclean elections of control": {change: set("control", topicrules.UncleanElections, "true"), says: []string{"tollgate-control: unclean.leader.election.enable is true, it must be false"}},
		"ledger not compacted":         {change: set("ledger", topicrules.CleanupPolicy, "delete"), says: []string{"tollgate-ledger: cleanup.policy is delete, it must be compact"}},
		"ledger compacted and deleted": {change: set("ledger", topicrules.CleanupPolicy, "compact,delete"), says: []string{"tollgate-ledger: cleanup.policy is compact,delete, it must be compact"}},
		"ledger of another number":     {change: func(s specs) { s["ledger"].Partitions = 8 }, says: []string{"tollgate-ledger: partitions is 8, it must be 4"}},
		"ledger without room, and unclean": {change: func(s specs) {
			set("ledger", topicrules.MaxMessageBytes, "999999")(s)
			set("ledger", topicrules.UncleanElections, "true")(s)
		}, says: []string{"tollgate-ledger: unclean.leader", "tollgate-ledger: max.message.bytes is 999999, it must be 1000000 or more"}},
		"compacted ends of turns":   {change: set("turns", topicrules.CleanupPolicy, "compact"), says: []string{"tollgate-turns: cleanup.policy is compact, it must be delete"}},
		"compacted counts":          {change: set("counts", topicrules.CleanupPolicy, "compact")},
		"short retention of ends":   {change: set("turns", topicrules.Retention, "1000")},
		"short retention of counts": {change: set("counts", topicrules.Retention, "1000"), says: []string{"tollgate-counts: retention.ms is 1000, it must be 3600000"}},
		"counts in other parts":     {change: func(s specs) { s["counts"].Partitions = 3 }, says: []string{"tollgate-counts: partitions is 3, it must be 1"}},
		"compacted dead letters":    {change: set("dead-letter", topicrules.CleanupPolicy, "compact"), says: []string{"tollgate-dead-letter: cleanup.policy is compact, it must be delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := deploytest.Config(deploytest.Start(t).Addr())
			if tt.config != nil {
				tt.config(&cfg)
			}
			d := makeTopics(t, cfg, tt.change)
			calls := map[string]error{"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}), "Init": Init(t.Context(), d, InitOptions{Start: time.Unix(0, 0)})}
			if tt.says != nil {
				_, calls["Run"] = Run(t.Context(), d, RunOptions{Bounded: true})
			}
			for call, err := range calls {
				var wrong *deployment.TopicError
				if (err != nil) != (tt.says != nil) || err != nil && (!errors.Is(err, deployment.ErrTopicSettings) || !errors.As(err, &wrong) || strings.Count(err.Error(), "\n") != len(tt.says)-1) {
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
	free := must(net.Listen("tcp", "127.0.0.1:0"))
	free.Close()
	d := mustCompile(t, deploytest.Config(free.Addr().String()))
	for call, err := range map[string]error{"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}), "Init": Init(t.Context(), d, InitOptions{})} {
		if !errors.Is(err, kafkalog.ErrUnreachable) || !strings.Contains(err.Error(), "broker "+free.Addr().String()+": nothing listens there: check that the broker is running and the port is right") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
