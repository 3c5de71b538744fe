package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../../.." // the module's directory, seen from this package
	prefix = "github.com/tollgate-dp/tollgate/"
)

// Modules that only some layers may import: whoever imports such a layer depends on them.
const (
	beam    = "github.com/apache/beam"
	kafkaGo = "github.com/segmentio/kafka-go"
	franz   = "github.com/twmb/franz-go"
)

var restricted = []string{beam, kafkaGo, franz}

// A layer is a group of packages with the same dependencies.
type layer struct {
	name     string
	sees     string   // earlier layers that its packages may import
	outside  []string // modules of restricted that its packages may import
	packages string   // in order: a package may import earlier ones
}

// module lists the layers from the bottom up. Every new package must be added.
func module() []layer {
	return []layer{
		{name: "secrets", packages: `
			schemas/secret`},
		{name: "numbers", packages: `
			internal/base/numbers/int128 internal/base/numbers/rounding internal/base/numbers/search
			internal/base/numbers/runs internal/base/numbers/wallclock internal/base/numbers/bigmath
			state/units state/budgets state/internal/fixed state/accounts`},
		{name: "words", packages: `
			internal/app/words`},
		{name: "memory", packages: `
			internal/base/hooks/poison`},
		{name: "accounting", sees: "numbers", packages: `
			state/loss state/conversion state/accounting state/continual state/pld state/bucket
			state/compose`},
		{name: "wire", sees: "secrets numbers memory", packages: `
			internal/base/formats/spelling schemas/metrickind schemas schemas/event/filter
			internal/base/formats/timespan internal/base/formats/csvrow schemas/event`},
		{name: "noise", sees: "secrets numbers accounting", packages: `
			transforms/noisereduction transforms/mechanisms`},
		{name: "experiments", sees: "words numbers accounting noise", packages: `
			internal/app/experiment internal/app/experiment/counts internal/app/experiment/odometers
			internal/app/experiment/filters internal/app/experiment/descent`},
		{name: "spending", sees: "secrets numbers memory wire noise", packages: `
			transforms/spend transforms/release`},
		{name: "transforms", sees: "secrets numbers wire noise spending", outside: []string{beam}, packages: `
			internal/base/hooks/localrunner transforms/hook transforms internal/base/hooks/restored transforms/plain`},
		{name: "kafka", sees: "secrets memory wire", outside: []string{kafkaGo, franz}, packages: `
			internal/base/kafka/kafkalog internal/base/kafka/registry`},
		{name: "deployment", sees: "secrets numbers wire noise spending transforms kafka", packages: `
			pipeline/internal/calendar pipeline/deployment/settings pipeline/deployment`},
		{name: "connection", sees: "secrets wire kafka deployment", outside: []string{kafkaGo}, packages: `
			internal/connect`},
		{name: "stages", sees: "secrets numbers memory wire noise spending transforms kafka deployment connection",
			outside: []string{beam, kafkaGo}, packages: `
			internal/base/hooks/crashpoint pipeline/internal/controllog
			pipeline/internal/changes pipeline/internal/topicrules pipeline/internal/fencing
			pipeline/internal/watch pipeline/internal/packing pipeline/internal/ledgerlog
			pipeline/internal/countslog pipeline/internal/reading pipeline/internal/publishing
			pipeline/internal/admin`},
		{name: "published", sees: "secrets wire kafka deployment connection stages", packages: `
			pipeline/published`},
		{name: "pipeline", sees: "secrets numbers wire noise spending transforms kafka deployment " +
			"connection stages published",
			outside: []string{beam, kafkaGo}, packages: `
			pipeline pipeline/flink`},
		{name: "front", sees: "words secrets numbers wire noise spending deployment published pipeline", packages: `
			internal/app/keyfile internal/app/startrecord internal/app/config internal/app/terminal
			internal/app/plan internal/app/plan/choice internal/app/outcomes internal/app/report
			internal/app/monitor/process internal/app/monitor docs internal/app/serve internal/app/outfile
			internal/app/cli internal/app/eventfile internal/app/generate internal/app/handout`},
		{name: "demo", sees: "words secrets numbers wire noise experiments spending kafka deployment " +
			"connection pipeline front",
			outside: []string{franz}, packages: `
			internal/base/kafka/embedded pipeline/pipelinetest internal/app/demo internal/app/experiment/year
			internal/app/replay`},
		// The audit computes everything a second time, so it sees no code that decides in a run.
		{name: "audit", sees: "secrets numbers wire noise kafka deployment connection", packages: `
			internal/app/audit/reference internal/app/audit`},
		{name: "programs",
			sees: "words secrets numbers accounting wire noise experiments transforms kafka deployment connection " +
				"pipeline front demo audit",
			packages: `
			internal/app/commands/command internal/app/commands/commandtest internal/app/commands/input
			internal/app/commands/demo internal/app/commands/dlq
			internal/app/commands/replay internal/app/commands/initialise
			internal/app/commands/validate internal/app/commands/change internal/app/commands/run
			internal/app/commands/status internal/app/commands/audit internal/app/commands/serve
			internal/app/commands/budget
			internal/app/commands cmd/runner cmd/experiments`},
		{name: "tests", sees: "secrets numbers wire noise experiments transforms kafka deployment front demo",
			outside: []string{beam, franz}, packages: `
			internal/testing/must internal/testing/await internal/testing/deploytest internal/testing/long
			internal/testing/chance
			internal/testing/doccheck internal/testing/fakeregistry internal/testing/python
			internal/testing/runseed internal/testing/golden internal/testing/repeated
			internal/testing/layers internal/testing/memledger
			internal/testing/process internal/testing/realkafka
			internal/testing/realflink internal/testing/workload integration`},
		{name: "peers", sees: "connection secrets wire noise experiments kafka pipeline " +
			"front demo tests", outside: []string{beam},
			packages: `
			internal/testing/peers`},
		{name: "deployment files", packages: `
			internal/testing/deployfiles deploy/release`},
	}
}

// importsOf returns the imports of every package of the module, without its test files.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	graph := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (hidden || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || hidden || !strings.HasSuffix(name, ".go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if _, seen := graph[dir]; !seen {
			graph[dir] = nil
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			to, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			graph[dir] = append(graph[dir], to)
		}
		return nil
	})
	if err != nil || len(graph["pipeline"]) < 10 {
		t.Fatalf("pipeline imports %q (%v): the test searches the wrong directory", graph["pipeline"], err)
	}
	return graph
}

func TestPackagesImportDownwardsOnly(t *testing.T) {
	graph := importsOf(t)
	layerOf, position := map[string]layer{}, map[string]int{}
	known := map[string]bool{}
	for _, l := range module() {
		for s := range strings.FieldsSeq(l.sees) {
			if !known[s] {
				t.Errorf("layer %s sees %s, which is not an earlier layer", l.name, s)
			}
		}
		known[l.name] = true
		for p := range strings.FieldsSeq(l.packages) {
			if _, there := graph[p]; !there || position[p] > 0 {
				t.Errorf("%s is listed twice, or does not exist", p)
			}
			layerOf[p], position[p] = l, len(position)+1
		}
	}
	for from, imports := range graph {
		l, listed := layerOf[from]
		if !listed {
			t.Errorf("%s is in no layer: add it to the one whose knowledge it shares", from)
		}
		for _, to := range imports {
			within := func(m string) bool { return to == m || strings.HasPrefix(to, m+"/") }
			inner, mine := strings.CutPrefix(to, prefix)
			other := layerOf[inner]
			switch {
			case !mine:
				if slices.ContainsFunc(restricted, within) && !slices.ContainsFunc(l.outside, within) {
					t.Errorf("%s imports %s, which layer %s does without", from, to, l.name)
				}
			case other.name == l.name && position[inner] >= position[from]:
				t.Errorf("%s imports %s, which is not before it in layer %s", from, inner, l.name)
			case other.name != l.name && !slices.Contains(strings.Fields(l.sees), other.name):
				t.Errorf("%s imports %s, and layer %s does not see layer %s", from, inner, l.name, other.name)
			}
		}
	}
}

// Programs that only read a configuration or published values do not depend on Beam.
func TestReadersDoWithoutBeam(t *testing.T) {
	graph := importsOf(t)
	for from := range strings.FieldsSeq(
		"pipeline/deployment pipeline/published internal/app/config internal/app/plan internal/app/report " +
			"internal/app/serve transforms/release transforms/spend") {
		if len(graph[from]) == 0 {
			t.Errorf("%s imports nothing: it is not where the test searches", from)
		}
		seen := map[string]bool{}
		for next := []string{from}; len(next) > 0; next = next[1:] {
			for _, to := range graph[next[0]] {
				if strings.HasPrefix(to, beam) {
					t.Errorf("%s imports Beam, by way of %s", from, next[0])
				}
				if inner, mine := strings.CutPrefix(to, prefix); mine && !seen[inner] {
					seen[inner] = true
					next = append(next, inner)
				}
			}
		}
	}
}
