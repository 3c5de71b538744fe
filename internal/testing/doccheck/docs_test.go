package doccheck

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// requirements lists what go.mod requires directly, as "module version".
func requirements(t *testing.T) []string {
	t.Helper()
	var out []string
	block := false
	for line := range strings.Lines(read(t, "go.mod")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (":
			block = true
			continue
		case line == ")":
			block = false
			continue
		case strings.HasPrefix(line, "require "):
			line = strings.TrimPrefix(line, "require ")
		case !block:
			continue
		}
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasSuffix(line, "// indirect") {
			out = append(out, line)
		}
	}
	return out
}

func TestDependenciesAreJustified(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| ([a-z][^ |]*\.[^ |]*) \| (v[^ |]+) \| (.+) \|$`)
	reasons := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/dependencies.md"), -1) {
		reasons[m[1]+" "+m[2]] = m[3]
	}
	required := requirements(t)
	if len(required) == 0 {
		t.Fatal("found no requirement in go.mod")
	}
	for _, r := range required {
		if len(reasons[r]) < 10 {
			t.Errorf("go.mod requires %s: docs/dependencies.md has no line with its reason", r)
		}
		delete(reasons, r)
	}
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		t.Errorf("docs/dependencies.md has a line for %s, which go.mod does not require directly", r)
	}
}

func TestConfigurationExplainsEveryField(t *testing.T) {
	text := read(t, "docs/configuration.md")
	wants := fields(reflect.TypeFor[pipeline.Config](), "")
	if len(wants) < 40 {
		t.Fatalf("found only %d fields", len(wants))
	}
	for _, options := range []reflect.Type{reflect.TypeFor[pipeline.InitOptions](), reflect.TypeFor[pipeline.RunOptions]()} {
		for _, f := range fields(options, options.Name()+".") {
			if f != "RunOptions.Logger" {
				wants = append(wants, f)
			}
		}
	}
	for _, w := range wants {
		if !strings.Contains(text, "`"+w+"`") {
			t.Errorf("docs/configuration.md does not explain `%s`", w)
		}
	}
}

// fields lists the exported fields of a configuration by their paths, leaves
// only. Types of other modules and secrets are leaves.
func fields(typ reflect.Type, at string) []string {
	var out []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() {
			continue
		}
		below := f.Type
		for below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && strings.Contains(below.PkgPath(), "/tollgate/") && !strings.HasSuffix(below.PkgPath(), "/secret") {
			out = append(out, fields(below, at+f.Name+".")...)
			continue
		}
		out = append(out, at+f.Name)
	}
	return out
}

func TestConfigurationExplainsEveryFlag(t *testing.T) {
	pages := map[string]string{"internal/app/commands": "docs/configuration.md", "internal/app/cli": "docs/configuration.md", "cmd/experiments": "docs/experiments.md"}
	found := 0
	for _, s := range sources(t) {
		page, is := pages[s.dir]
		if s.test || !is {
			continue
		}
		text := read(t, page)
		for _, name := range flags(s.file) {
			found++
			if !strings.Contains(text, "`--"+name+"`") {
				t.Errorf("%s does not explain --%s (%s)", page, name, s.path)
			}
		}
	}
	if found < 20 {
		t.Fatalf("found only %d flags", found)
	}
}

// flags lists the flags that a file registers: calls of methods …Var whose
// second argument is a name.
func flags(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasSuffix(method.Sel.Name, "Var") {
			return true
		}
		if name, ok := text(call.Args[1]); ok {
			names = append(names, name)
		}
		return true
	})
	return names
}

// text returns the value of a string literal.
func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}

func TestRunbookExplainsEveryError(t *testing.T) {
	runbook := read(t, "docs/runbook.md")
	found := 0
	for _, s := range sources(t) {
		if s.test || (s.dir != "pipeline" && s.dir != "internal/kafka/kafkalog") {
			continue
		}
		for _, name := range sentinels(s.file) {
			found++
			if full := s.file.Name.Name + "." + name; !strings.Contains(runbook, "`"+full+"`") {
				t.Errorf("docs/runbook.md does not explain `%s`", full)
			}
		}
	}
	if found < 10 {
		t.Fatalf("found only %d errors", found)
	}
	for _, class := range event.Classes() {
		if !strings.Contains(runbook, "`"+class+"`") {
			t.Errorf("docs/runbook.md does not explain the class of dead letters `%s`", class)
		}
	}
}

// sentinels lists a file's exported error variables.
func sentinels(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for _, spec := range decl.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names { //nolint:errcheck // a VAR declaration has value specs only
				if strings.HasPrefix(name.Name, "Err") {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// Every reason for which a deployment stops itself is in the runbook, up to its
// first punctuation.
func TestRunbookExplainsEveryStop(t *testing.T) {
	runbook := read(t, "docs/runbook.md")
	found := 0
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, reason := range stops(s.file) {
			found++
			if i := strings.IndexAny(reason, ",:;("); i > 0 {
				reason = strings.TrimSpace(reason[:i])
			}
			if !strings.Contains(runbook, reason) {
				t.Errorf("docs/runbook.md does not explain the stop %q (%s)", reason, s.path)
			}
		}
	}
	if found < 5 {
		t.Fatalf("found only %d stops", found)
	}
}

// stops lists the literal reasons of StopErrors in a file.
func stops(file *ast.File) []string {
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		name := ""
		switch typ := lit.Type.(type) {
		case *ast.Ident:
			name = typ.Name
		case *ast.SelectorExpr:
			name = typ.Sel.Name
		}
		if name != "StopError" {
			return true
		}
		for _, e := range lit.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Reason" {
				if reason, ok := text(field.Value); ok {
					reasons = append(reasons, reason)
				}
			}
		}
		return true
	})
	return reasons
}

// What README tells people to run, .ci/run runs, and the other way round.
func TestReadmeHasTheTestCommandsOfCI(t *testing.T) {
	command := regexp.MustCompile("(?m)(?:^ *|`)(go test [^`\n]*\\./\\.\\.\\.)")
	said := map[string][]string{}
	for _, file := range []string{"README.md", ".ci/run"} {
		for _, m := range command.FindAllStringSubmatch(read(t, file), -1) {
			said[file] = append(said[file], m[1])
		}
		slices.Sort(said[file])
		if len(said[file]) < 1 {
			t.Errorf("%s has %q; it should have the command for all tests", file, said[file])
		}
	}
	if !slices.Equal(said["README.md"], said[".ci/run"]) {
		t.Errorf("README.md has %q and .ci/run has %q", said["README.md"], said[".ci/run"])
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		body, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(body), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
}
