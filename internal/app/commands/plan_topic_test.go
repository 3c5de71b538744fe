package commands

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// A topic and a file with the same events give the same advice, of several partitions, in a range,
// and through a metric's filter; nothing is written, not even a topic.
func TestPlanOfATopicIsThatOfAFile(t *testing.T) {
	t.Parallel()
	addr := commandtest.Broker(t)
	csv := visits(t, true)
	cfg := commandtest.DeploymentFile(t, addr, "keys: {list: [north, south, west]}",
		"filter: where != \"nowhere\"\n    keys: {list: [north, south, west]}", "epsilon: 4", "epsilon: 1")
	mustRun(t, "init", "--create-topics", "--event-partitions", "3", "--generate-keys", "--config", cfg)
	mustRun(t, "replay", "--config", cfg, "--input", csv, "--header")
	before := ends(t, addr)
	code, stdout, stderr := tollgate(t, "plan", "--config", cfg, "--format", "json", "--from", "2025-03-02", "--to",
		"2025-03-04")
	type planned struct {
		Events  uint64
		Windows []map[string]any
		YAML    string
	}
	var topic, file planned
	if err := json.Unmarshal([]byte(stdout), &topic); err != nil || code != command.ExitOK {
		t.Fatalf("exit %d, %v, %s", code, err, stderr)
	}
	stdout, _ = mustRun(t, "plan", "--format", "json", "--input", csv, "--header", "--user-field", "who", "--key-field",
		"where", "--time-field", "when",
		"--window", "1d", "--from", "2025-03-02", "--to", "2025-03-04", "--lasts", "365d", "--public-keys",
		"north,south,west")
	must.Succeed(t, json.Unmarshal([]byte(stdout), &file))
	if topic.Events == 0 || topic.Events != file.Events || !reflect.DeepEqual(topic.Windows, file.Windows) {
		t.Errorf("%+v\n%+v", topic.Windows, file.Windows)
	}
	if got := topic.YAML; !strings.HasPrefix(got, "- name: views\n") || !strings.Contains(got, "absolute: ") {
		t.Errorf("it is not of the metric: %s", got)
	}
	if after := ends(t, addr); !reflect.DeepEqual(before, after) {
		t.Errorf("%v were %v", after, before)
	}
	stdout, stderr = mustRun(t, "plan", "--config", cfg)
	if !strings.Contains(stdout, "TRUSTED") || !strings.Contains(stdout, "2 records: no user, key or time") ||
		!strings.Contains(stdout, "takes the place of these fields") || strings.Contains(stdout, "tollgate demo") {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// ends returns where all partitions of all topics end.
func ends(t *testing.T, addr string) map[string][]int64 {
	t.Helper()
	client := must.Have(kafkalog.Dial(context.Background(), kafkalog.Config{Brokers: []string{addr}}))
	defer client.Close()
	all := map[string][]int64{}
	for _, topic := range []string{"visits", "shop-counts", "shop-control", "shop-ledger", "shop-dead-letter",
		"shop-turns"} {
		partitions := must.Have(client.Partitions(t.Context(), topic))
		for _, p := range partitions {
			o := must.Have(client.Offsets(t.Context(), topic, p))
			all[topic] = append(all[topic], o.High)
		}
	}
	return all
}
