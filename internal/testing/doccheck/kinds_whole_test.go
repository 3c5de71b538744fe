package doccheck

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// kindOf returns a configuration with one metric of a kind, with what the kind needs, and with
// the share of counted events.
func kindOf(k metrickind.Kind, edit ...string) (*deployment.Deployment, error) {
	bounds, target := "", "100"
	if k.Values {
		bounds = "bounds: {min: 2, max: 10}"
	}
	if k.Tree != nil { // an error of a rank
		target = "0.1"
	}
	if !k.CountTarget() {
		target += ", noise: 300"
	}
	text := fmt.Sprintf(`
deployment: d
kafka: {brokers: ["b:9092"]}
events: {topic: t, format: jsonl, fields: {user: u, key: k, time: t, value: cents}, time_unit: s}
privacy: {epsilon: 1, delta: 1e-6, lasts: 24h}
metrics:
  - name: m
    kind: %s
    window: {size: 1h}
    keys: {list: [a]}
    %s
    target: {absolute: %s}
    counted: true
keys: {noise: {id: "1", file: noise.key}, user_hash: {file: user.key}}
`, k.Name, bounds, target)
	for i := 0; i < len(edit); i += 2 {
		text = strings.Replace(text, edit[i], edit[i+1], 1)
	}
	file, err := config.Parse("d.yml", []byte(text), config.Environment{})
	if err != nil {
		return nil, err
	}
	if err := file.Resolve(config.Options{MissingKeys: true}); err != nil {
		return nil, err
	}
	return file.Compile()
}

// What is configured, checked, computed and printed knows every entry of the table.
func TestEveryKindOfMetricIsKnownEverywhere(t *testing.T) {
	for _, k := range metrickind.Offered() {
		d, err := kindOf(k)
		if err != nil {
			t.Errorf("%s cannot be configured: %v", k.Name, err)
			continue
		}
		metrics := d.Metrics
		share := metrickind.Sharing()
		var statistics []metrickind.Kind
		if k.Tree != nil {
			statistics = slices.Repeat([]metrickind.Kind{metrickind.Of(k.Tree.Statistic)}, map[bool]int{false: 3, true: 8 + 6}[k.Tree.Edges])
		}
		if len(metrics) != 2+len(statistics) || metrics[0].Spec.Kind != k.Name || metrics[1].Spec.Kind != share.Name || metrics[1].Spec.Name != share.Beside("m") {
			t.Errorf("%s: compiled to %+v", k.Name, metrics)
		}
		if _, err := reference.Compile(reference.Config{Metrics: d.Specs()}); err != nil {
			t.Errorf("internal/testing/reference does not know %s: add it in check.go, clip.go and release.go: %v", k.Name, err)
		}
		var page strings.Builder
		if err := report.NewCollector(d).Write(&page, report.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, shown := range append([]metrickind.Kind{k, share}, statistics...) {
			value, _, _ := strings.Cut(shown.Texts.Value, "{")
			if !strings.Contains(page.String(), shown.Texts.Label) || !strings.Contains(page.String(), value) {
				t.Errorf("the page does not say what %s is", shown.Name)
			}
		}
		further, parts := d.Specs()[len(metrics):], k.Further()
		if k.Tree != nil {
			parts = append(parts, metrickind.Of(k.Tree.Nodes[0]))
		}
		if !slices.EqualFunc(further, parts, func(m schemas.MetricSpec, of metrickind.Kind) bool {
			return m.Kind == of.Name && m.Name == of.Beside("m")
		}) {
			t.Errorf("%s: its further components are %+v", k.Name, further)
		}
		if found := regexp.MustCompile(`\{(value|min|max|of|absolute|rank|least rank|greatest rank)\}`).FindString(page.String()); found != "" {
			t.Errorf("%s: the page says %s", k.Name, found)
		}
	}
}

// What a kind cannot have is refused, with the texts of its entry.
func TestWhatAKindOfMetricCannotHaveIsRefused(t *testing.T) {
	for _, k := range metrickind.Offered() {
		edits := map[string][]string{ // what the error says → what is edited
			k.NotPrivate:                   {"{list: [a]}", "{mode: private}"},
			"m " + k.Texts.Verb + " value": {", value: cents", ""},
		}
		if k.Values {
			edits[k.Texts.Label+" needs min and max"] = []string{"{min: 2, max: 10}", "{}"}
			switch {
			case k.Tree != nil:
				edits["give an absolute target instead"] = []string{"absolute: 0.1", "relative: 0.1"}
			case k.Vector != nil:
				edits[k.Texts.Label+" that can be 0"] = []string{"min: 2", "min: -2", "absolute: 100", "relative: 0.1"}
			default:
				edits[k.Texts.Label+" that can be negative"] = []string{"min: 2", "min: -2", "absolute: 100", "absolute: 100, relative: 0.1"}
			}
		} else {
			edits["are only used with "+metrickind.Plural(metrickind.Valued())] = []string{"keys:", "bounds: {min: 2, max: 10}\n    keys:"}
			delete(edits, "m "+k.Texts.Verb+" value")
		}
		if k.NotPrivate == "" {
			if _, err := kindOf(k, edits[""]...); err != nil {
				t.Errorf("%s with private keys: %v", k.Name, err)
			}
			delete(edits, "")
		}
		for _, says := range slices.Sorted(maps.Keys(edits)) {
			if _, err := kindOf(k, edits[says]...); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s, %q: error is %v, want one that says %q", k.Name, edits[says], err, says)
			}
		}
	}
}

func TestEveryKindOfMetricIsDocumented(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `metrics\\[\\]\\.kind` .*$").FindString(read(t, "docs/configuration.md"))
	moves := read(t, "docs/guarantee.md")
	for _, k := range metrickind.All() {
		if !k.Derived && !strings.Contains(row, "`"+k.Name+"`") {
			t.Errorf("docs/configuration.md does not list the kind %s", k.Name)
		}
		if !regexp.MustCompile("(?m)^\\| `?" + k.Name + "`? \\|").MatchString(moves) {
			t.Errorf("docs/guarantee.md does not say what one user moves of %s", k.Name)
		}
	}
}
