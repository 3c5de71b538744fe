package pipeline

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
)

// replicated makes every topic with so many replicas, and one of them with settings of its own.
func replicated(replicas int, changes ...func(specs)) func(specs) {
	return func(s specs) {
		for _, spec := range s {
			spec.Replication = replicas
			if replicas > 1 && spec.Name != "events" {
				spec.Config[topicrules.MinInSync] = "2"
			}
		}
		for _, change := range changes {
			change(s)
		}
	}
}

const alterMinInSync = "kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics --entity-name tollgate-%s --add-config min.insync.replicas="

var durabilities = []struct {
	name    string
	brokers int
	change  func(specs)
	says    []string // as warnings
	strict  []string // in refusals, as far as they say something else
}{
	{name: "three replicas, two in sync", brokers: 3, change: replicated(3)},
	{name: "two replicas, two in sync", brokers: 3, change: replicated(2)},
	{
		name: "one in sync is enough for control", brokers: 3, change: replicated(3, func(s specs) { delete(s["control"].Config, topicrules.MinInSync) }),
		says: []string{"topic tollgate-control: min.insync.replicas is 1, it should be 2 or more: Kafka acknowledges writes that only one broker has, and if it loses them they are gone: " +
			strings.Replace(alterMinInSync, "%s", "control", 1) + "2"},
	},
	{
		name: "one in sync is enough for everything", brokers: 3,
		change: replicated(3, set("control", topicrules.MinInSync, "1"), set("ledger", topicrules.MinInSync, "1"), set("counts", topicrules.MinInSync, "1"), set("dead-letter", topicrules.MinInSync, "1"), set("turns", topicrules.MinInSync, "1")),
		says:   []string{"topic tollgate-control: min", "topic tollgate-ledger: min", "topic tollgate-counts: min", "topic tollgate-dead-letter: min", "topic tollgate-turns: min"},
	},
	{
		name: "a ledger with one replica", brokers: 3, change: replicated(3, func(s specs) {
			s["ledger"].Replication = 1
			delete(s["ledger"].Config, topicrules.MinInSync)
		}),
		says: []string{"topic tollgate-ledger: replication factor is 1, it should be 3: its records are lost if its only broker loses them: kafka-reassign-partitions.sh gives an existing topic more replicas, and tollgate init --create-topics --replication 3 creates topics with three"},
	},
	{
		name: "more in sync than there are", brokers: 3, change: replicated(2, set("counts", topicrules.MinInSync, "3")),
		says: []string{"topic tollgate-counts: min.insync.replicas is 3, it should be at most the replication factor, 2: brokers before Kafka 4 refuse every write: " +
			strings.Replace(alterMinInSync, "%s", "counts", 1) + "2"},
	},
	{
		name: "one broker", brokers: 1, change: replicated(1), says: []string{"the cluster has one broker: if it loses control or ledger"},
		strict: []string{"topic tollgate-control: replication factor is 1", "topic tollgate-ledger: replication factor is 1", "topic tollgate-counts: replication factor is 1", "topic tollgate-dead-letter: replication factor is 1", "topic tollgate-turns: replication factor is 1"},
	},
}

// Whatever one broker can lose after it was acknowledged is told, with what mends it, by a look at
// the topics and by every run; with Strict it is refused.
func TestRuleTopicsThatOneBrokerCanLoseAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range durabilities {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cluster, err := kfake.NewCluster(kfake.NumBrokers(tt.brokers), kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			addr := cluster.ListenAddrs()[0]
			d := makeTopics(t, deploytest.Config(addr), tt.change)
			if err := Init(t.Context(), d, InitOptions{}); err != nil {
				t.Fatal(err)
			}
			looks := map[string]func(*slog.Logger, bool) error{
				"CheckTopics": func(log *slog.Logger, strict bool) error {
					return CheckTopics(t.Context(), d, CheckOptions{Logger: log, Strict: strict})
				},
				"Run": func(log *slog.Logger, strict bool) error {
					_, err := Run(t.Context(), d, RunOptions{Logger: log, Strict: strict, Bounded: true})
					return err
				},
			}
			for call, look := range looks {
				var out bytes.Buffer
				if err := look(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})), false); err != nil {
					t.Errorf("%s: %v", call, err)
				}
				warned := strings.ReplaceAll(out.String(), addr, "BROKER")
				if n := strings.Count(warned, "level=WARN"); n != len(tt.says) {
					t.Errorf("%s: %d warnings, want %d:\n%s", call, n, len(tt.says), warned)
				}
				for _, says := range tt.says {
					if !strings.Contains(warned, says) {
						t.Errorf("%s: %s\ndoes not say\n%s", call, warned, says)
					}
				}
				err := look(slog.New(slog.DiscardHandler), true)
				if len(tt.says) == 0 {
					if err != nil {
						t.Errorf("%s, strict: %v", call, err)
					}
					continue
				}
				if !errors.Is(err, deployment.ErrStrict) || !errors.Is(err, deployment.ErrTopicSettings) {
					t.Fatalf("%s, strict: %v", call, err)
				}
				refused := strings.ReplaceAll(err.Error(), addr, "BROKER")
				says := tt.strict
				if says == nil {
					for _, s := range tt.says {
						says = append(says, strings.ReplaceAll(s, "it should be", "it must be"))
					}
				}
				for _, s := range says {
					if !strings.Contains(refused, s) {
						t.Errorf("%s, strict: %s\ndoes not say\n%s", call, refused, s)
					}
				}
			}
		})
	}
}
