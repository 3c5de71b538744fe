package access

import (
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

// As StandardAuthorizer decides (Kafka's documentation, "Authorization and ACLs").
func TestWhoIsAllowedFollowsKafkasAuthorizer(t *testing.T) {
	rule := func(allow bool, who, host string, o kafkalog.Operation, name string, prefixed bool) kafkalog.AccessRule {
		return kafkalog.AccessRule{Resource: kafkalog.ResourceTopic, Name: name, Prefixed: prefixed, Principal: who, Host: host, Operation: o, Allow: allow}
	}
	for name, tt := range map[string]struct {
		rules []kafkalog.AccessRule
		want  []string
	}{
		"no rule":              {nil, nil},
		"by name":              {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-control", false)}, []string{"User:b"}},
		"another name":         {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-counts", false)}, nil},
		"a longer name":        {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-", false)}, nil},
		"by its beginning":     {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-", true)}, []string{"User:b"}},
		"all names":            {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "*", false)}, []string{"User:b"}},
		"a beginning is no *":  {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "*", true)}, nil},
		"all operations":       {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.All, "t-control", false)}, []string{"User:b"}},
		"another operation":    {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Read, "t-control", false)}, nil},
		"from one host":        {[]kafkalog.AccessRule{rule(true, "User:b", "10.0.0.1", kafkalog.Write, "t-control", false)}, []string{"User:b from 10.0.0.1"}},
		"twice, and in order":  {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "*", false), rule(true, "User:a", "*", kafkalog.All, "t-", true), rule(true, "User:b", "*", kafkalog.All, "*", false)}, []string{"User:a", "User:b"}},
		"forbidden":            {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-control", false), rule(false, "User:b", "*", kafkalog.All, "t-", true)}, nil},
		"forbidden to all":     {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-control", false), rule(false, "User:*", "*", kafkalog.Write, "*", false)}, nil},
		"forbidden elsewhere":  {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-control", false), rule(false, "User:b", "10.0.0.1", kafkalog.Write, "t-control", false)}, []string{"User:b"}},
		"everyone but one":     {[]kafkalog.AccessRule{rule(true, "User:*", "*", kafkalog.Write, "t-control", false), rule(false, "User:b", "*", kafkalog.Write, "t-control", false)}, []string{"User:*"}},
		"reading is forbidden": {[]kafkalog.AccessRule{rule(true, "User:b", "*", kafkalog.Write, "t-control", false), rule(false, "User:b", "*", kafkalog.Read, "t-control", false)}, []string{"User:b"}},
	} {
		if got := allowed(tt.rules, kafkalog.ResourceTopic, "t-control", kafkalog.Write); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if got := allowed(tt.rules, kafkalog.ResourceTransactionalID, "t-control", kafkalog.Write); len(got) > 0 {
			t.Errorf("%s: rules for topics let %q do something under a transactional id", name, got)
		}
	}
}
