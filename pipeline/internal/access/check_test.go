package access

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Whose rules are too much depends on who the user is: where that is not known, no other is blamed,
// and a name that no rule has is said.
func TestOthersAreToldFromTheUserByItsName(t *testing.T) {
	t.Parallel()
	rule := kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "tollgate-", Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: kmsg.ACLOperationWrite, Allow: true}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "s3cret"),
		kfake.SeedTopics(1, "tollgate-control"), kfake.User("PLAIN", "runs", "s3cret", rule), kfake.User("PLAIN", "other", "s3cret", rule))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg := deploytest.Config(cluster.ListenAddrs()[0])
	cfg.Kafka.SASL = &deployment.SASL{Mechanism: "plain", User: "root", Password: secret.New("s3cret")}
	d, err := deployment.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(t.Context(), cfg.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for principal, want := range map[string]struct {
		unnamed bool
		blamed  []string
	}{
		"User:runs": {false, []string{"User:other"}},
		"User:root": {true, []string{"User:other", "User:runs"}},
		"":          {true, nil},
	} {
		r, err := Check(t.Context(), d, client, Run, principal)
		if err != nil {
			t.Fatal(err)
		}
		var blamed []string
		for _, one := range r.TooMuch {
			if who, found := strings.CutSuffix(one, " may Write on topic tollgate-control (control)"); found {
				blamed = append(blamed, who)
			}
		}
		if r.Unnamed != want.unnamed || !slices.Equal(blamed, want.blamed) {
			t.Errorf("%q: unnamed %v, blamed %q, want %+v", principal, r.Unnamed, blamed, want)
		}
	}
	if _, err := Check(t.Context(), d, client, "admin", ""); err == nil {
		t.Error("another role was taken")
	}
}
