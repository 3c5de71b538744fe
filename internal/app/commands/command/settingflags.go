package command

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// flagsOf returns the flags that set a field of a configuration, or a part of it, in demo and
// plan; nil if none does.
func flagsOf(field string) []string {
	return map[string][]string{
		"Events.Format":           {"input-format", "columns"},
		"Events.Format.User":      {"user-field"},
		"Metrics":                 {"relative", "absolute", "confidence"},
		"Metrics.Also":            {"also"},
		"Metrics.Buckets":         {"buckets"},
		"Metrics.Edges":           {"edges"},
		"Metrics.Keys":            {"public-keys"},
		"Metrics.Kind":            {"kind"},
		"Metrics.Max":             {"min", "max"},
		"Metrics.MaxEventsPerKey": {"max-events-per-key"},
		"Metrics.MaxKeysPerUser":  {"max-keys-per-user"},
		"Metrics.Min":             {"min"},
		"Metrics.Noise":           {"noise"},
		"Metrics.Ranks":           {"ranks"},
		"Metrics.Scale":           {"scale"},
		"Metrics.Target":          {"absolute", "noise"},
		"Metrics.Target.Absolute": {"absolute"},
		"Metrics.Target.Relative": {"relative"},
		"Metrics.Window":          {"window"},
		"Privacy":                 {"epsilon", "delta"},
		"Privacy.Accountant":      {"accountant"},
		"Privacy.Delta":           {"delta"},
		"Privacy.DeltaKeys":       {"delta-keys", "delta"},
		"Privacy.Epsilon":         {"epsilon"},
		"Privacy.Lasts":           {"lasts"},
	}[field]
}

// indices matches those of lists.
var indices = regexp.MustCompile(`\[[0-9]+\]`)

// InFlags returns an error that names the flags that were given, of those that set the field. The
// reason names flags that can be added.
func InFlags(bad *deployment.ConfigError, given func(flag string) bool) error {
	reason := bad.Reason(func(s deployment.Setting) string {
		flags := flagsOf(s.Field)
		if len(flags) == 0 {
			return s.String()
		}
		return strings.TrimSpace("--" + flags[0] + " " + strings.Trim(s.Value, "[]"))
	})
	field := indices.ReplaceAllString(bad.Field, "")
	flags := flagsOf(field)
	for cut := 0; flags == nil && cut >= 0; flags = flagsOf(field) {
		if cut = strings.LastIndexByte(field, '.'); cut >= 0 {
			field = field[:cut]
		}
	}
	var named []string
	for _, flag := range flags {
		if given(flag) {
			named = append(named, "--"+flag)
		}
	}
	if len(named) == 0 {
		return errors.New(reason)
	}
	return fmt.Errorf("%s: %s", strings.Join(named, ", "), reason)
}
