package pipeline

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
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

var durabilities = []struct {
	name    string
	brokers int
	change  func(specs)
	says    []string // as warnings, after "topic tollgate-"; with Strict, "but must be"
}{
	{name: "three replicas, two in sync", brokers: 3, change: replicated(3)},
	{name: "two replicas, two in sync", brokers: 3, change: replicated(2)},
	{
		name: "one in sync is enough for everything", brokers: 3,
		change: replicated(3, set("control", topicrules.MinInSync, "1"), set("ledger", topicrules.MinInSync, "1"),
			set("counts", topicrules.MinInSync, "1"), set("dead-letter", topicrules.MinInSync, "1"),
			set("turns", topicrules.MinInSync, "1")),
		says: []string{"control: min.insync.replicas is 1, but should be 2", "ledger: min", "counts: min",
			"dead-letter: min", "turns: min"},
	},
	{
		name: "a ledger with one replica", brokers: 3, change: replicated(3, func(s specs) {
			s["ledger"].Replication = 1
			delete(s["ledger"].Config, topicrules.MinInSync)
		}),
		says: []string{"ledger: replication factor is 1, but should be 3"},
	},
	{name: "more in sync than there are", brokers: 3, change: replicated(2, set("counts", topicrules.MinInSync, "3")),
		says: []string{"counts: min.insync.replicas is 3, but should be at most"}},
}

// CheckTopics and every run report acknowledged records that one broker can lose, with the remedy;
// with Strict they refuse.
func TestRuleTopicsThatOneBrokerCanLoseAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range durabilities {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cluster := must.Have(kfake.NewCluster(kfake.NumBrokers(tt.brokers),
				kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"})))
			t.Cleanup(cluster.Close)
			addr := cluster.ListenAddrs()[0]
			d := makeTopics(t, deploytest.Config(addr), tt.change)
			must.Succeed(t, Init(t.Context(), d, InitOptions{}))
			checks := map[string]func(*slog.Logger, bool) error{
				"CheckTopics": func(log *slog.Logger, strict bool) error {
					return CheckTopics(t.Context(), d, CheckOptions{Logger: log, Strict: strict})
				},
				"Run": func(log *slog.Logger, strict bool) error {
					_, err := Run(t.Context(), d, RunOptions{Logger: log, Strict: strict, Bounded: true})
					return err
				},
			}
			for call, look := range checks {
				var out bytes.Buffer
				if err := look(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})),
					false); err != nil {
					t.Errorf("%s: %v", call, err)
				}
				if n := strings.Count(out.String(), "level=WARN"); n != len(tt.says) {
					t.Errorf("%s: %d warnings, want %d:\n%s", call, n, len(tt.says), &out)
				}
				err := look(slog.New(slog.DiscardHandler), true)
				if strict := errors.Is(err, deployment.ErrStrict) &&
					errors.Is(err, deployment.ErrTopicSettings); strict != (len(tt.says) > 0) {
					t.Fatalf("%s, strict: %v", call, err)
				}
				for _, says := range tt.says {
					says = "topic tollgate-" + says
					if refusal := strings.ReplaceAll(says, "but should be",
						"but must be"); !strings.Contains(out.String(), says) || !strings.Contains(err.Error(),
						refusal) {
						t.Errorf("%s: %s\nor %v\ndoes not say\n%s", call, &out, err, says)
					}
				}
			}
		})
	}
}
