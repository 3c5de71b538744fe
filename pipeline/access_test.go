package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/access"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// controlled is Apache Kafka with access control, where the plain listener is for its super user.
type controlled struct {
	*realkafka.Broker
	admin *kgo.Client
}

func startControlled(t *testing.T) *controlled {
	t.Helper()
	b := kafkaOf(t, realkafka.Options{
		Listeners: []realkafka.Listener{{Name: "LOGIN", Protocol: "SASL_PLAINTEXT"}},
		Settings: map[string]string{
			"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":           "User:ANONYMOUS",
			"listener.name.login.sasl.enabled.mechanisms": "PLAIN",
			"listener.name.login.plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule required ` +
				`user_runs="s3cret" user_begins="s3cret" user_serves="s3cret" user_looks="s3cret";`,
		},
	})
	admin, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	return &controlled{b, admin}
}

// as returns a configuration for a user.
func (c *controlled) as(user string) deployment.Config {
	cfg := deploytest.Config(c.AddrOf("LOGIN"))
	cfg.Kafka.SASL = &deployment.SASL{Mechanism: "plain", User: user, Password: secret.New("s3cret")}
	return cfg
}

// grant does what a command of kafka-acls.sh would do.
func (c *controlled) grant(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(strings.ReplaceAll(command, "'", ""))
	values := func(flag string) (all []string) {
		for i := range words {
			if words[i] == flag {
				all = append(all, words[i+1])
			}
		}
		return all
	}
	value := func(flag string) string { return strings.Join(values(flag), " ") }
	of := kmsg.NewCreateACLsRequestCreation()
	of.Host, of.PermissionType, of.Principal = "*", kmsg.ACLPermissionTypeAllow, value("--allow-principal")
	of.ResourcePatternType = kmsg.ACLResourcePatternTypeLiteral
	switch topic, id := value("--topic"), value("--transactional-id"); {
	case topic != "":
		of.ResourceType, of.ResourceName = kmsg.ACLResourceTypeTopic, topic
	case id != "":
		of.ResourceType, of.ResourceName = kmsg.ACLResourceTypeTransactionalId, id
	default:
		of.ResourceType, of.ResourceName = kmsg.ACLResourceTypeCluster, "kafka-cluster"
	}
	if value("--resource-pattern-type") == "prefixed" {
		of.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
	}
	req := kmsg.NewPtrCreateACLsRequest()
	for _, name := range values("--operation") {
		var err error
		if of.Operation, err = kmsg.ParseACLOperation(name); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		req.Creations = append(req.Creations, of)
	}
	res, err := req.RequestWith(t.Context(), c.admin)
	if err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatalf("%s: %v, %+v", command, err, res)
	}
}

// look asks until the answer fits: brokers take up new rules a moment later.
func (c *controlled) look(t *testing.T, d *deployment.Deployment, role AccessRole, fits func(r *AccessReport) bool) *AccessReport {
	t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r, err := CheckAccess(t.Context(), d, role, "")
		if err != nil {
			t.Fatal(err)
		}
		if fits(r) {
			return r
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%+v", r)
		}
	}
}

func complete(r *AccessReport) bool { return len(r.Missing) == 0 }

// What a role lacks is what it needs: with the commands that the report names, and nothing else, a
// deployment begins, runs and is read.
func TestAccessOnApacheKafka(t *testing.T) {
	t.Parallel()
	c := startControlled(t)
	begins, runs, serves := mustCompile(t, c.as("begins")), mustCompile(t, c.as("runs")), mustCompile(t, c.as("serves"))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	// Nothing exists, and no user may do anything.
	r := c.look(t, begins, RoleInit, func(r *AccessReport) bool { return len(r.Missing) > 0 })
	if r.Rules != RulesForbidden || r.Principal != "User:begins" {
		t.Errorf("%+v", r)
	}
	if err := Init(t.Context(), begins, InitOptions{Start: start}); err == nil {
		t.Fatal("a user without any rule has begun a deployment")
	}
	for range 2 { // whether it may create a topic is asked once it may know that there is none
		for _, lack := range c.look(t, begins, RoleInit, func(*AccessReport) bool { return true }).Missing {
			c.grant(t, lack.Fix)
		}
		time.Sleep(200 * time.Millisecond)
	}
	c.look(t, begins, RoleInit, complete)
	super := mustCompile(t, deploytest.Config(c.Addr()))
	if err := createEvents(t, super, 200); err != nil {
		t.Fatal(err)
	}
	if err := CreateTopics(t.Context(), begins, TopicOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(CheckTopics(t.Context(), begins, CheckOptions{}), Init(t.Context(), begins, InitOptions{Start: start})); err != nil {
		t.Fatal(err)
	}

	lacks := c.look(t, runs, RoleRun, func(r *AccessReport) bool { return len(r.Missing) == 8 }).Missing
	if _, err := Run(t.Context(), runs, RunOptions{Bounded: true}); err == nil {
		t.Fatal("a user without any rule has run a deployment")
	}
	for _, lack := range lacks {
		c.grant(t, lack.Fix)
	}
	c.look(t, runs, RoleRun, complete)
	if result, err := Run(t.Context(), runs, RunOptions{Bounded: true}); err != nil || result.Settled == 0 {
		t.Fatalf("with all that it lacked: %+v, %v", result, err)
	}

	for _, lack := range c.look(t, serves, RoleServe, func(r *AccessReport) bool { return len(r.Missing) == 2 }).Missing {
		c.grant(t, lack.Fix)
	}
	c.look(t, serves, RoleServe, func(r *AccessReport) bool { return complete(r) && len(r.TooMuch) == 0 })
	found := errors.New("found")
	err := FollowReleases(t.Context(), serves, FollowOptions{From: &Position{}}, func(p Published) error {
		if len(p.Releases) > 0 {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		t.Errorf("following counts: %v", err)
	}
	t.Run("others", func(t *testing.T) { testOthersOf(t, c, runs, serves) })
}

// createEvents makes the events topic and puts events on it, as the super user.
func createEvents(t *testing.T, d *deployment.Deployment, n int) error {
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "events", Partitions: 1, Replication: 1}); err != nil {
		return err
	}
	p, err := client.NewProducer(t.Context(), "events", 0, "")
	if err != nil {
		return err
	}
	_, err = p.Append(t.Context(), eventsAt(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), n))
	return err
}

// testOthersOf looks at who else may do what only a run should.
func testOthersOf(t *testing.T, c *controlled, runs, serves *deployment.Deployment) {
	allow := func(who, operation, on string) {
		t.Helper()
		c.grant(t, fmt.Sprintf("--allow-principal User:%s --operation %s %s", who, operation, on))
	}
	allow("runs", "Describe", "--cluster") // which lets it look at the rules
	r := c.look(t, runs, RoleRun, func(r *AccessReport) bool { return r.Rules == access.RulesRead })
	at := slices.IndexFunc(r.Topics, func(one access.Topic) bool { return one.Is == "control" })
	if got := fmt.Sprint(r.Topics[at].Readers, r.Topics[at].Writers); got != "[User:begins User:runs] [User:begins User:runs]" {
		t.Errorf("control: %s", got)
	}
	want := []string{"User:begins may Write on topic tollgate-control (control)"}
	if !slices.Equal(r.TooMuch, want) {
		t.Errorf("too much: %q, want %q", r.TooMuch, want)
	}

	allow("mallory", "Write", "--topic tollgate- --resource-pattern-type prefixed")
	allow("mallory", "All", "--transactional-id *")
	allow("*", "Read", "--topic tollgate-ledger")
	allow("runs", "Write", "--topic events")
	allow("root", "Alter", "--cluster")
	want = []string{
		"this user may also Write on topic events (events)",
		"User:begins may Write on topic tollgate-control (control)",
		"User:mallory may Write on topic tollgate-control (control)",
		"User:mallory may Write on topic tollgate-ledger (ledger)",
		"every user may Read topic tollgate-ledger (ledger), which is for the trusted side only",
		"User:mallory may Write on topic tollgate-counts (counts)",
		"User:mallory may Write on topic tollgate-turns (turns)",
		"User:mallory may Write on transactional ids tollgate/ledger-*, and so can shut a run out",
		"User:mallory may Write on transactional ids tollgate/counts-*, and so can shut a run out",
	}
	c.look(t, runs, RoleRun, func(r *AccessReport) bool {
		return slices.Equal(r.TooMuch, want) && slices.Equal(r.Administrators, []string{"User:root"})
	})

	allow("serves", "All", "--topic tollgate-control")
	r = c.look(t, serves, RoleServe, func(r *AccessReport) bool {
		return slices.ContainsFunc(r.TooMuch, func(s string) bool { return strings.Contains(s, "control") })
	})
	if got := strings.Join(r.TooMuch, "\n"); r.Rules != RulesForbidden ||
		got != "this user may also Write, Delete, Alter, AlterConfigs, Read on topic tollgate-control (control)\nthis user may also Read on topic tollgate-ledger (ledger)" {
		t.Errorf("too much for serve: %s %s", r.Rules, got)
	}
}

// Without an authorizer the brokers let everyone do everything, and say so.
func TestBrokersWithoutAccessControlAreNamed(t *testing.T) {
	t.Parallel()
	b := kafkaOf(t, realkafka.Options{})
	r, err := CheckAccess(context.Background(), mustCompile(t, deploytest.Config(b.Addr())), RoleRun, "")
	if err != nil || r.Rules != RulesNone || len(r.Missing) > 0 || len(r.TooMuch) != 1 || !strings.Contains(r.TooMuch[0], "no access control") {
		t.Errorf("%+v, %v", r, err)
	}
}
