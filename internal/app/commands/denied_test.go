package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// A user without rights is told which ones are missing on which topic, and what grants them.
func TestAMissingRightIsToldWithTheCommandThatGrantsIt(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableACLs(), kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "a"), kfake.User("PLAIN", "bob", "b"),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	addr := cluster.ListenAddrs()[0]
	cfg := deploymentFile(t, addr)
	edit(t, cfg, fmt.Sprintf("[%q]}", addr), fmt.Sprintf("[%q], sasl: {mechanism: plain, user: admin, password: a}}", addr))
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	edit(t, cfg, "user: admin, password: a", "user: bob, password: b")
	for _, command := range []struct{ name, role string }{{"run", "run"}, {"init", "init"}, {"validate", "run"}, {"change", "run"}, {"status", "run"}} {
		code, _, stderr := run(t, command.name, "--config", cfg)
		for _, want := range []string{
			"allow Describe on topic shop-control: kafka-acls.sh --bootstrap-server " + addr + " --add --allow-principal 'User:bob' --topic shop-control --operation Describe\n",
			"to list all rights that this user lacks: tollgate validate --config " + cfg + " --acls --role " + command.role + "\n",
		} {
			if code != exitError || !strings.Contains(stderr, want) {
				t.Errorf("%s: exit %d, want %q:\n%s", command.name, code, want, stderr)
			}
		}
	}
	admin, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.SASL(plain.Auth{User: "admin", Pass: "a"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, _, stderr := run(t, "validate", "--config", cfg); strings.Count(stderr, "allow Describe on topic ") != 6 {
		t.Errorf("not all six topics are named:\n%s", stderr)
	}

	// All that the rules of topics look at is allowed, and what the versions are found in is not.
	allow := kmsg.NewPtrCreateACLsRequest()
	for _, on := range []struct {
		resource  kmsg.ACLResourceType
		name      string
		operation kmsg.ACLOperation
	}{
		{kmsg.ACLResourceTypeTopic, "*", kmsg.ACLOperationDescribe}, {kmsg.ACLResourceTypeTopic, "*", kmsg.ACLOperationDescribeConfigs},
		{kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationDescribeConfigs}, {kmsg.ACLResourceTypeTopic, "shop-control", kmsg.ACLOperationRead},
	} {
		allow.Creations = append(allow.Creations, kmsg.CreateACLsRequestCreation{
			ResourceType: on.resource, ResourceName: on.name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
			Principal: "User:bob", Host: "*", Operation: on.operation, PermissionType: kmsg.ACLPermissionTypeAllow,
		})
	}
	if res, err := allow.RequestWith(t.Context(), admin); err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
	if err := admin.ProduceSync(t.Context(), &kgo.Record{Topic: "shop-ledger", Value: []byte("something to read")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"validate", "init"} {
		if code, _, stderr := run(t, command, "--config", cfg); code != exitError || !strings.Contains(stderr, "allow Read on topic shop-ledger") {
			t.Errorf("%s without a right to read the ledger: exit %d: %s", command, code, stderr)
		}
	}
}
