package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root = "../../.." // the module's directory, seen from this package
	own  = "github.com/tollgate-dp/tollgate"
	here = "internal/testing/layers/layers_test.go"
)

func TestPackagesImportDownwardsOnly(t *testing.T) {
	graph := map[string][]string{}
	for _, f := range files(t) {
		if f.test {
			if _, known := graph[f.dir]; !known {
				graph[f.dir] = nil
			}
			continue
		}
		for _, i := range f.syntax.Imports {
			graph[f.dir] = append(graph[f.dir], path(i))
		}
	}
	if len(graph["pipeline"]) < 10 {
		t.Fatalf("pipeline imports %q: the test does not look where the packages are", graph["pipeline"])
	}
	for _, problem := range check(graph, module()) {
		t.Error(problem)
	}
}

// Programs that only read a configuration, or what was published, do without the engine.
func TestReadersDoWithoutBeam(t *testing.T) {
	graph := map[string][]string{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		for _, i := range f.syntax.Imports {
			graph[f.dir] = append(graph[f.dir], path(i))
		}
	}
	for _, from := range []string{"pipeline/deployment", "pipeline/published", "internal/app/config", "internal/app/plan", "internal/app/report", "internal/app/serve", "transforms/release", "transforms/spend"} {
		if len(graph[from]) == 0 {
			t.Errorf("%s imports nothing: the test does not look where the package is", from)
		}
		came := map[string]string{from: ""} // package → what imports it
		for next := []string{from}; len(next) > 0; next = next[1:] {
			for _, to := range graph[next[0]] {
				if strings.HasPrefix(to, beam) {
					t.Errorf("%s imports Beam, by way of %s (from %s)", from, next[0], came[next[0]])
				}
				inside := strings.TrimPrefix(to, own+"/")
				if _, seen := came[inside]; inside != to && !seen {
					came[inside] = next[0]
					next = append(next, inside)
				}
			}
		}
	}
}

// check compares imports, by package, with layers. Packages of the module are named by their paths
// in it; what they import is named in full.
func check(graph map[string][]string, layers []layer) (problems []string) {
	at := map[string]layer{}   // package → its layer
	line := map[string]int{}   // package → its line
	known := map[string]bool{} // layers so far
	for _, l := range layers {
		for _, s := range l.sees {
			if !known[s] {
				problems = append(problems, fmt.Sprintf("layer %s sees %s, which is not an earlier layer (%s)", l.name, s, here))
			}
		}
		known[l.name] = true
		for _, e := range l.packages {
			if _, twice := line[e.path]; twice {
				problems = append(problems, fmt.Sprintf("%s is on two lines of %s", e.path, here))
			}
			if _, there := graph[e.path]; !there {
				problems = append(problems, fmt.Sprintf("%s does not exist: take its line out of %s, or change its path there", e.path, here))
			}
			at[e.path], line[e.path] = l, len(line)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(graph)) {
		l, ok := at[from]
		if !ok {
			problems = append(problems, fmt.Sprintf("%s is in no layer: give it a line in %s, in the layer whose knowledge it shares", from, here))
			continue
		}
		imports := slices.Clone(graph[from])
		slices.Sort(imports)
		for _, to := range slices.Compact(imports) {
			if why := forbidden(l, from, to, at, line); why != "" {
				problems = append(problems, fmt.Sprintf("%s (layer %s) imports %s: %s (%s)", from, l.name, to, why, here))
			}
		}
	}
	return problems
}

// forbidden says why a package of a layer may not import another one; empty where it may.
func forbidden(l layer, from, to string, at map[string]layer, line map[string]int) string {
	inner, mine := strings.CutPrefix(to, own+"/")
	if !mine {
		within := func(m string) bool { return to == m || strings.HasPrefix(to, m+"/") }
		if slices.ContainsFunc(restricted, within) && !slices.ContainsFunc(l.outside, within) {
			return "this layer does without that module"
		}
		return ""
	}
	other, ok := at[inner]
	switch {
	case !ok:
		return "that package is in no layer"
	case other.name == l.name && line[inner] >= line[from]:
		return "within a layer, a package imports those on the lines above it"
	case other.name != l.name && !slices.Contains(l.sees, other.name):
		return "this layer does not see layer " + other.name
	}
	return ""
}

// file is one parsed file of the module.
type file struct {
	path, dir string // from the module's directory, with slashes
	test      bool
	set       *token.FileSet
	syntax    *ast.File // up to its imports
}

// files parses the imports of all files of the module but test data.
func files(t *testing.T) (out []file) {
	t.Helper()
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
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, file{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(name, "_test.go"), set, syntax})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("found %d Go files: is %s the module's directory?", len(out), root)
	}
	return out
}

// path returns what an import names.
func path(i *ast.ImportSpec) string {
	p, err := strconv.Unquote(i.Path.Value)
	if err != nil {
		return i.Path.Value
	}
	return p
}
