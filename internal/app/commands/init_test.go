package commands

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

// records returns how many records partition 0 of a topic has had.
func records(t *testing.T, addr, topic string) int64 {
	t.Helper()
	c, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	bounds, err := c.Offsets(t.Context(), topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	return bounds.High
}

// An init of a deployment that has this configuration changes nothing, says so, and is no error;
// with another configuration it says every difference and what to do.
func TestInitCanBeRepeated(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	cfg := deploymentFile(t, addr)
	again := []string{"init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1"}
	mustRun(t, append(again, "--start", "2025-03-01T12:00:00Z")...)
	stdout, _ := mustRun(t, append(again, "--start", "2025-06-01")...)
	for _, want := range []string{
		"shop is initialised already on topic shop-control, with this configuration; nothing was changed", "time begins at 2025-03-01T00:00:00Z",
		"--start 2025-06-01T00:00:00Z is ignored", "next: tollgate run --config " + cfg,
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the second init does not say %q: %s", want, stdout)
		}
	}
	if !regexp.MustCompile(`incarnation [0-9a-f]{32}, generation 1;`).MatchString(stdout) || strings.Contains(stdout, "differential privacy") {
		t.Errorf("the second init: %s", stdout)
	}
	if third, _ := mustRun(t, "init", "--config", cfg); third != strings.Replace(stdout, "--start 2025-06-01T00:00:00Z is ignored: the first init has fixed where time begins\n", "", 1) {
		t.Errorf("the third init: %s", third)
	}
	if n := records(t, addr, "shop-control"); n != 1 {
		t.Errorf("control has %d records", n)
	}

	edit(t, cfg, "absolute: 30", "absolute: 40", "\nkeys:", "\nledger_slots: 128\nkeys:")
	code, stdout, stderr := run(t, again...)
	for _, want := range []string{
		"with another configuration", "nothing was changed", "the metric views\n    target.absolute: 30 → 40\n", "ledger_slots: 64 → 128",
		"tollgate change --config " + cfg, "time begins at 2025-03-01T00:00:00Z",
	} {
		if code != exitConfig || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("another configuration: exit %d, %q is not said: %s", code, want, stderr)
		}
	}
	edit(t, cfg, "shards: 4", "shards: 8", "epsilon: 4", "epsilon: 9")
	code, _, stderr = run(t, again...)
	for _, want := range []string{"privacy.epsilon: 4 → 9\n    this cannot be changed: epsilon would rise", "shards: 4 → 8", "begin a new deployment"} {
		if code != exitConfig || !strings.Contains(stderr, want) {
			t.Errorf("what can never change: exit %d, %q is not said: %s", code, want, stderr)
		}
	}
	if n := records(t, addr, "shop-control"); n != 1 {
		t.Errorf("control has %d records", n)
	}
}

// What is left of an init that ended in the middle is completed by the next one.
func TestInitCompletesAnInterruptedOne(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]func(t *testing.T, addr, cfg string){
		"after a key": func(t *testing.T, _, cfg string) {
			madeKeys(t, cfg, 0o600)
			if err := os.Remove(filepath.Join(filepath.Dir(cfg), "secrets", "user-hash.key")); err != nil {
				t.Fatal(err)
			}
		},
		"between topics": func(t *testing.T, addr, cfg string) {
			madeKeys(t, cfg, 0o600)
			create(t, addr, kafkalog.TopicSpec{Name: "shop-control", Partitions: 1, Config: map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}})
		},
		"refused": func(t *testing.T, _, cfg string) { // it has made no topic
			madeKeys(t, cfg, 0o600)
			edit(t, cfg, "topic: visits", "topic: missing")
			if code, _, stderr := run(t, "init", "--config", cfg, "--create-topics"); code != exitError || strings.Count(stderr, "missing does not exist") != 1 || !strings.Contains(stderr, "--event-partitions") {
				t.Errorf("without the events topic: exit %d, %s", code, stderr)
			}
			edit(t, cfg, "topic: missing", "topic: visits")
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr := broker(t)
			cfg := deploymentFile(t, addr)
			begun(t, addr, cfg)
			stdout, stderr := mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
			if !strings.Contains(stdout, "shop is initialised on topic shop-control") {
				t.Errorf("stdout %s", stdout)
			}
			there := map[string][]string{"between topics": {"shop-control"}}[name]
			for _, topic := range []string{"shop-control", "shop-ledger", "shop-counts", "shop-turns", "shop-dead-letter", "visits"} {
				want := "made topic " + topic + "\n"
				if slices.Contains(there, topic) {
					want = "topic " + topic + " exists and is used as it is\n"
				}
				if strings.Count(stderr, "topic "+topic+"\n")+strings.Count(stderr, "topic "+topic+" exists") != 1 || !strings.Contains(stderr, want) {
					t.Errorf("stderr does not say %q, or says more of it: %s", want, stderr)
				}
			}
			mustRun(t, "validate", "--config", cfg)
		})
	}
}

// Of two inits at once one begins the deployment; the other finds it begun, which is no error.
func TestTwoInitsAtOnceBeginOneDeployment(t *testing.T) {
	t.Parallel()
	addr := broker(t)
	cfg := deploymentFile(t, addr)
	var codes [4]int
	var stdout, stderr [4]string
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			codes[i], stdout[i], stderr[i] = run(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", "2025-03-01")
		})
	}
	all.Wait()
	first := 0
	incarnations := map[string]bool{}
	for i, code := range codes {
		if code != exitOK {
			t.Errorf("exit %d: %s", code, stderr[i])
		}
		if found := regexp.MustCompile("incarnation [0-9a-f]{32}").FindString(stdout[i]); found != "" {
			incarnations[found] = true
		} else {
			first++
		}
	}
	if first != 1 || len(incarnations) != 1 {
		t.Errorf("%d inits begin the deployment, the others find %v", first, incarnations)
	}
	mustRun(t, "validate", "--config", cfg)
}

// Where control was lost, init refuses to begin anew before it makes any topic: an empty control
// topic would hide what was lost.
func TestInitMakesNoTopicWhereControlWasLost(t *testing.T) {
	t.Parallel()
	for _, held := range []string{"shop-ledger", "shop-counts", "shop-turns"} {
		addr := broker(t)
		cfg := deploymentFile(t, addr)
		mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
		c, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p, err := c.NewProducer(t.Context(), held, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Append(t.Context(), []kafkalog.Message{{Key: []byte("k"), Value: []byte("what was written")}}); err != nil {
			t.Fatal(err)
		}
		p.Close()
		deleteTopics(t, addr, "shop-control", "shop-dead-letter")
		code, _, stderr := run(t, "init", "--config", cfg, "--create-topics", "--begin-second-promise")
		if code != exitError || !strings.Contains(stderr, "topic shop-control does not exist, but topic "+held+" holds records: control was lost") || strings.Contains(stderr, "made topic") {
			t.Errorf("exit %d, %s", code, stderr)
		}
		for _, gone := range []string{"shop-control", "shop-dead-letter"} {
			if _, err := c.Partitions(t.Context(), gone); !errors.Is(err, kafkalog.ErrUnknownTopic) {
				t.Errorf("topic %s: %v", gone, err)
			}
		}
	}
}

func deleteTopics(t *testing.T, addr string, names ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames = names
	for _, name := range names {
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	if _, err := request.RequestWith(t.Context(), client); err != nil {
		t.Fatal(err)
	}
}
