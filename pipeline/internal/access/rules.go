package access

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

// everyone is the principal of rules for all users.
const everyone = "User:*"

// allowed returns the principals whom rules let do something with a resource, in order: with the
// host where they may do it from one host only. It follows Kafka's authorizer: a rule that forbids
// wins over any that allows, and rules for a name, for its beginning and for all names count alike.
func allowed(rules []kafkalog.AccessRule, resource kafkalog.Resource, name string, o kafkalog.Operation) []string {
	var yes []string
	forbidden := map[string]bool{}
	for _, r := range rules {
		if r.Resource != resource || !covers(&r, name) || r.Operation != o && r.Operation != kafkalog.All {
			continue
		}
		switch {
		case !r.Allow && r.Host == "*":
			forbidden[r.Principal] = true
		case r.Allow && r.Host == "*":
			yes = append(yes, r.Principal)
		case r.Allow:
			yes = append(yes, r.Principal+" from "+r.Host)
		}
	}
	yes = slices.DeleteFunc(yes, func(who string) bool {
		principal, _, _ := strings.Cut(who, " from ")
		return forbidden[everyone] || forbidden[principal]
	})
	slices.Sort(yes)
	return slices.Compact(yes)
}

// covers reports whether a rule is about a name.
func covers(r *kafkalog.AccessRule, name string) bool {
	if r.Prefixed {
		return strings.HasPrefix(name, r.Name)
	}
	return r.Name == name || r.Name == "*"
}

// named reports whether any rule is about a name, which closes it to users without a rule whatever
// allow.everyone.if.no.acl.found says.
func named(rules []kafkalog.AccessRule, resource kafkalog.Resource, name string) bool {
	return slices.ContainsFunc(rules, func(r kafkalog.AccessRule) bool { return r.Resource == resource && covers(&r, name) })
}
