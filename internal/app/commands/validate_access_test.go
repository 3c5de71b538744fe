package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// guardedBroker is a broker with access control: runs may do what a run does, and look at the
// rules; serves may read counts and turns; mallory may write everywhere.
func guardedBroker(t *testing.T) string {
	t.Helper()
	return guarded(t, "runs", kfake.EnableSASL()).ListenAddrs()[0]
}

func guarded(t *testing.T, user string, more ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	rule := func(o kmsg.ACLOperation, of kmsg.ACLResourceType, name string) kfake.ACL {
		return kfake.ACL{Resource: of, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: o, Allow: true}
	}
	on := func(topic string, all ...kmsg.ACLOperation) (rules []kfake.ACL) {
		for _, o := range all {
			rules = append(rules, rule(o, kmsg.ACLResourceTypeTopic, topic))
		}
		return rules
	}
	const read, write, settings = kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDescribeConfigs
	runs := on("visits", read, settings)
	var topics []string
	for _, name := range []string{"control", "ledger", "counts", "turns", "dead-letter"} {
		topics = append(topics, "tollgate-"+name)
		runs = append(runs, on("tollgate-"+name, read, write, settings)...)
	}
	all := rule(kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, "tollgate/")
	all.Pattern = kmsg.ACLResourcePatternTypePrefixed
	runs = append(runs, all, rule(kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster, "kafka-cluster"))
	cluster, err := kfake.NewCluster(append(more, kfake.NumBrokers(1), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "s3cret"),
		kfake.SeedTopics(1, append(topics, "visits")...),
		kfake.User("PLAIN", user, "s3cret", runs...),
		kfake.User("PLAIN", "serves", "s3cret", append(on("tollgate-counts", read), on("tollgate-turns", read)...)...),
		kfake.User("PLAIN", "mallory", "s3cret", on("*", write)...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// as is a configuration whose user is one of guardedBroker's.
func as(t *testing.T, addr, user string) string {
	text := strings.Replace(planned, `{brokers: ["localhost:1"]}`, `{brokers: ["`+addr+`"], sasl: {mechanism: plain, user: `+user+`, password: s3cret}}`, 1)
	return write(t, "tollgate.yaml", text)
}

func TestValidateSaysWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	addr := guardedBroker(t)
	for _, tt := range []struct {
		name     string
		args     []string
		code     int
		out, err []string
	}{
		{
			"the run's user", []string{"--config", as(t, addr, "runs")}, exitOK,
			[]string{"  control       tollgate-control       User:runs", "User:mallory, User:runs", "the brokers confirm that this user (User:runs; give --principal if the brokers have another name) may do all that run needs"},
			[]string{"warning: User:mallory may Write on topic tollgate-ledger (ledger)\n"},
		},
		{
			"strictly", []string{"--strict", "--config", as(t, addr, "runs")}, exitConfig,
			[]string{"may do all that run needs"}, []string{"error: User:mallory may Write on topic tollgate-control (control)\n", "refused because of --strict"},
		},
		{
			"a reader for its own role", []string{"--role", "serve", "--config", as(t, addr, "serves")}, exitOK,
			[]string{"the brokers do not let this user read their rules (Describe on the cluster)", "may do all that serve needs"}, nil,
		},
		{
			"a reader that is to run", []string{"--principal", "User:s2", "--config", as(t, addr, "serves")}, exitError,
			[]string{"this user (User:s2; give --principal if the brokers have another name) lacks these rights, which run needs:\n    Read, DescribeConfigs on topic visits\n"},
			[]string{"error: this user may not Read, DescribeConfigs on topic visits, which run needs: kafka-acls.sh --bootstrap-server " + addr + " --add --allow-principal 'User:s2' --topic visits --operation Read --operation DescribeConfigs\n", "transactional ids tollgate/counts-*"},
		},
		{"a role without --acls", nil, exitUsage, nil, []string{"--role and --principal are only used with --acls"}},
		{"another role", []string{"--role", "root", "--config", "x"}, exitUsage, nil, []string{"it must be run, init or serve"}},
		{"offline", []string{"--offline", "--config", "x"}, exitUsage, nil, []string{"--acls asks the brokers"}},
	} {
		args := append([]string{"validate", "--acls"}, tt.args...)
		if tt.args == nil {
			args = []string{"validate", "--role", "run", "--config", "x"}
		}
		code, stdout, stderr := run(t, args...)
		if code != tt.code {
			t.Errorf("%s: exit code %d, want %d: %s%s", tt.name, code, tt.code, stdout, stderr)
		}
		for _, want := range tt.out {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: stdout does not say %q:\n%s", tt.name, want, stdout)
			}
		}
		for _, want := range tt.err {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: stderr does not say %q:\n%s", tt.name, want, stderr)
			}
		}
	}
	path := as(t, addr, "runs") // on a machine whose keys are not to be read
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "noise.key"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _ := mustRun(t, "validate", "--acls", "--format", "json", "--config", path)
	var r pipeline.AccessReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Rules != pipeline.RulesRead || len(r.Topics) != 6 || len(r.TooMuch) != 4 {
		t.Errorf("%v: %s", err, stdout)
	}
}
