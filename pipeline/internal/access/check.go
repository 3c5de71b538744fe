package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/fencing"
)

// Report is who may do what with the topics of a deployment.
type Report struct {
	Role Role `json:"role"`
	// Principal is what the brokers are assumed to call the user of the configuration; "" where
	// that cannot be known.
	Principal string `json:"principal,omitempty"`
	// Unnamed says that rules were read, and that none has the principal: it is a super user, or
	// the brokers call the user otherwise.
	Unnamed bool `json:"unnamed,omitempty"`
	// Rules says whether rules of access control were found, and why not.
	Rules RuleState `json:"rules"`
	// Topics are those of the deployment. Absent is a topic that does not exist yet.
	Topics []Topic `json:"topics"`
	// Administrators may change the rules themselves.
	Administrators []string `json:"administrators,omitempty"`
	// Missing is what the user lacks for the role, each with the command that grants it.
	Missing []Lack `json:"missing,omitempty"`
	// TooMuch is what the user, and for a run others, may do that no role needs and that can do
	// harm.
	TooMuch []string `json:"too_much,omitempty"`
}

// RuleState says what is known of the rules.
type RuleState string

// What can be known of the rules.
const (
	RulesRead      RuleState = "read"
	RulesForbidden RuleState = "forbidden" // the user may not look
	RulesNone      RuleState = "none"      // the brokers have no access control
)

// Topic is one topic with the principals that rules let read and write it; nil where rules cannot
// be looked at.
type Topic struct {
	Is      string   `json:"is"`
	Name    string   `json:"name"`
	Absent  bool     `json:"absent,omitempty"`
	Readers []string `json:"readers,omitempty"`
	Writers []string `json:"writers,omitempty"`
}

// Lack is something that a user may not do and has to.
type Lack struct {
	Operations []string `json:"operations"`
	On         string   `json:"on"`
	Fix        string   `json:"fix"` // a command for those who may change rules
}

// Check asks the brokers. principal is what they call the client's user; "" where it is not known.
func Check(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, role Role, principal string) (*Report, error) {
	if !slices.Contains(Roles(), role) {
		return nil, fmt.Errorf("checking access: %q is not a role: use run, init or serve", role)
	}
	c := &check{d: d, client: client, topics: topics(d), report: &Report{Role: role, Principal: principal, Rules: RulesRead}}
	var err error
	switch c.rules, err = client.AccessRules(ctx); {
	case errors.Is(err, kafkalog.ErrForbidden):
		c.report.Rules = RulesForbidden
	case errors.Is(err, kafkalog.ErrNoAccessControl):
		c.report.Rules = RulesNone
	case err != nil:
		return nil, err
	}
	if err := c.checkOwn(ctx); err != nil {
		return nil, err
	}
	if c.report.Rules == RulesNone {
		c.report.TooMuch = []string{"the brokers have no access control: every client may write to control and ledger, and read topics of the trusted side. Set authorizer.class.name on the brokers"}
		return c.report, nil
	}
	if c.report.Rules == RulesRead {
		c.checkOthers()
	}
	return c.report, nil
}

// check is one look at the access to a deployment.
type check struct {
	d      *deployment.Deployment
	client *kafkalog.Client
	topics []topic
	rules  []kafkalog.AccessRule
	report *Report
}

// checkOwn asks what the client's user may do, and notes what is missing and what is too much.
func (c *check) checkOwn(ctx context.Context) error {
	names := make([]string, len(c.topics))
	for i := range c.topics {
		names[i] = c.topics[i].name
	}
	may, err := c.client.MayOn(ctx, names...)
	if err != nil {
		return err
	}
	role := c.report.Role
	for i := range c.topics {
		t := &c.topics[i]
		can, exists := may[t.name]
		c.report.Topics = append(c.report.Topics, Topic{
			Is: t.is, Name: t.name, Absent: !exists,
			Readers: allowed(c.rules, kafkalog.ResourceTopic, t.name, kafkalog.Read), Writers: allowed(c.rules, kafkalog.ResourceTopic, t.name, kafkalog.Write),
		})
		if !exists {
			if err := c.absent(ctx, t); err != nil {
				return err
			}
			continue
		}
		lacking := slices.DeleteFunc(slices.Clone(t.needs[role]), can.Has)
		if slices.ContainsFunc(lacking, func(o kafkalog.Operation) bool { return o == kafkalog.Read || o == kafkalog.Write }) {
			lacking = slices.DeleteFunc(lacking, func(o kafkalog.Operation) bool { return o == kafkalog.Describe }) // comes with both
		}
		c.lacks("topic "+t.name, "--topic "+t.name, lacking...)
		if extra := t.excess(role, can); len(extra) > 0 {
			c.tooMuch("this user may also %s on topic %s (%s)", list(extra), t.name, t.is)
		}
	}
	if role != Run {
		return nil
	}
	for _, id := range transactionalIDs(c.d) {
		if ok, err := c.client.MayWriteAs(ctx, id+"0"); err != nil {
			return err
		} else if !ok {
			c.lacks("transactional ids "+id+"*", "--transactional-id "+id+" --resource-pattern-type prefixed", kafkalog.Write)
		}
	}
	return nil
}

// absent looks at a topic that init would have to create.
func (c *check) absent(ctx context.Context, t *topic) error {
	if c.report.Role != Init || t.is == "events" {
		return nil
	}
	ok, err := c.client.MayCreate(ctx, t.name)
	if err == nil && !ok {
		c.lacks("topic "+t.name, "--topic "+t.name, kafkalog.Create)
	}
	return err
}

// checkOthers notes who else may do what only a run is to do, where the user is that of the run.
func (c *check) checkOthers() {
	c.report.Administrators = allowed(c.rules, kafkalog.ResourceCluster, "kafka-cluster", kafkalog.Alter)
	c.report.Unnamed = !slices.ContainsFunc(c.rules, func(r kafkalog.AccessRule) bool { return r.Principal == c.report.Principal })
	if c.report.Role != Run {
		return
	}
	for i := range c.topics {
		t := &c.topics[i]
		if !named(c.rules, kafkalog.ResourceTopic, t.name) {
			c.tooMuch("no rule covers topic %s (%s): if the brokers have allow.everyone.if.no.acl.found=true, every user may do everything there", t.name, t.is)
			continue
		}
		if t.writes {
			c.foreign(kafkalog.ResourceTopic, t.name, fmt.Sprintf("topic %s (%s)", t.name, t.is), powers()...)
		}
		if t.reads && slices.Contains(c.report.Topics[i].Readers, everyone) {
			c.tooMuch("every user may Read topic %s (%s), which is for the trusted side only", t.name, t.is)
		}
	}
	for _, id := range transactionalIDs(c.d) {
		c.foreign(kafkalog.ResourceTransactionalID, id+"0", "transactional ids "+id+"*, and so can shut a run out", kafkalog.Write)
	}
}

// foreign notes the principals but the client's own that may do something. Where it is not known
// who that is, no other can be told from it.
func (c *check) foreign(resource kafkalog.Resource, name, on string, operations ...kafkalog.Operation) {
	if c.report.Principal == "" {
		return
	}
	could := map[string][]kafkalog.Operation{}
	var order []string
	for _, o := range operations {
		for _, who := range allowed(c.rules, resource, name, o) {
			if principal, _, _ := strings.Cut(who, " from "); principal == c.report.Principal {
				continue
			}
			if could[who] == nil {
				order = append(order, who)
			}
			could[who] = append(could[who], o)
		}
	}
	for _, who := range order {
		c.tooMuch("%s may %s on %s", who, list(could[who]), on)
	}
}

func (c *check) tooMuch(format string, args ...any) {
	c.report.TooMuch = append(c.report.TooMuch, fmt.Sprintf(format, args...))
}

func (c *check) lacks(on, flags string, all ...kafkalog.Operation) {
	if len(all) == 0 {
		return
	}
	who := cmp.Or(c.report.Principal, "User:NAME")
	lack := Lack{On: on, Fix: fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --allow-principal '%s' %s", c.d.Config.Kafka.Brokers[0], who, flags)}
	for _, o := range all {
		lack.Operations = append(lack.Operations, o.String())
		lack.Fix += " --operation " + o.String()
	}
	c.report.Missing = append(c.report.Missing, lack)
}

// Denied returns the rights that an error of the brokers says a user lacks, each once, with the
// command that grants it.
func Denied(d *deployment.Deployment, principal string, err error) []Lack {
	c := &check{d: d, report: &Report{Principal: principal}}
	var told []kafkalog.DeniedError
	for _, e := range kafkalog.Causes[*kafkalog.DeniedError](err) {
		one := kafkalog.DeniedError{Operation: e.Operation, Resource: e.Resource, Name: e.Name}
		if slices.Contains(told, one) {
			continue
		}
		told = append(told, one)
		if e.Resource == kafkalog.ResourceTopic {
			c.lacks("topic "+e.Name, "--topic "+e.Name, e.Operation)
			continue
		}
		for _, id := range transactionalIDs(d) {
			if strings.HasPrefix(e.Name, id) {
				c.lacks("transactional ids "+id+"*", "--transactional-id "+id+" --resource-pattern-type prefixed", e.Operation)
			}
		}
	}
	return c.report.Missing
}

// transactionalIDs returns how the transactional ids of a run begin, which a partition's number
// ends.
func transactionalIDs(d *deployment.Deployment) []string {
	return []string{fencing.LedgerIDs(d), fencing.CountsIDs(d)}
}

func list(all []kafkalog.Operation) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.String()
	}
	return strings.Join(names, ", ")
}
