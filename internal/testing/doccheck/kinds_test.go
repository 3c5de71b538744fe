package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// A kind is an entry of metrickind's table: everything else asks the entry for a property. To add a
// kind, one would otherwise have to find every file that compares names. internal/testing/reference
// computes what must come out a second time, on its own.
func TestKindsAreNamedInTheirTableOnly(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "schemas/metrickind" || strings.HasPrefix(s.dir, "internal/testing/") {
			continue
		}
		for _, name := range kindsNamed(s.file) {
			t.Errorf("%s names the kind %s: ask its entry for a property, see package metrickind", s.path, name)
		}
	}
}

func TestNamesOfKindsAreRecognised(t *testing.T) {
	const text = `package p
import (mk "github.com/tollgate-dp/tollgate/schemas/metrickind"; "flag")
const kindUsers = "coverage"
type field struct{ name, kind, initial string; oneOf []string }
var fields = []field{{name: "events", kind: "object"}, {name: "kind", oneOf: []string{"distinct_users"}}}
func f(m struct{ Kind, Name string }) {
	_ = mk.Sum
	_ = mk.Offered()
	flag.Int("events", 1, "how many events")
	if m.Kind == "events" || m.Name == "events" { m.Name = "coverage" }
	switch m.Kind { case "coverage": }
	switch m.Name { case "coverage": }
	m.Kind = "events"
	def(&m.Kind, "events")
	_ = struct{ Kind, Name string }{Kind: "events", Name: "events"}
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"coverage", "distinct_users", "Sum", "events", "coverage", "events", "events", "events"}
	if got := kindsNamed(file); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// words are names of kinds that are also those of topics, flags and fields: they are meant as kinds
// where something that is called a kind stands beside them. The other names are always meant as
// kinds.
var words = []string{metrickind.Events, metrickind.Mean, metrickind.Variance, metrickind.Coverage, metrickind.Counted}

// kindsNamed lists the constants of metrickind and the names of kinds in a file.
func kindsNamed(file *ast.File) (found []string) {
	local := ""
	for _, i := range file.Imports {
		if i.Path.Value == `"github.com/tollgate-dp/tollgate/schemas/metrickind"` {
			local = "metrickind"
			if i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	names := metrickind.Names(metrickind.All())
	var parents []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		parents = append(parents, n)
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && local != "" && x.Name == local && slices.ContainsFunc(names, func(name string) bool { return constant(name) == n.Sel.Name }) {
				found = append(found, n.Sel.Name)
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && slices.Contains(names, text) && (!slices.Contains(words, text) || besideKind(parents)) {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// constant returns the Go name of a kind's constant: DistinctUsers of distinct_users.
func constant(name string) (out string) {
	for part := range strings.SplitSeq(name, "_") {
		out += strings.ToUpper(part[:1]) + part[1:]
	}
	return out
}

// besideKind says whether the innermost comparison, assignment, call, field or case around a
// literal, the last of nodes, has an identifier that speaks of a kind.
func besideKind(nodes []ast.Node) bool {
	for i := len(nodes) - 2; i >= 0; i-- {
		var whole ast.Node
		switch n := nodes[i].(type) {
		case *ast.BinaryExpr, *ast.AssignStmt, *ast.ValueSpec, *ast.KeyValueExpr, *ast.CallExpr:
			whole = n
		case *ast.SwitchStmt:
			whole = n.Tag
		case *ast.CaseClause, *ast.BlockStmt, *ast.CompositeLit, *ast.UnaryExpr, *ast.ParenExpr:
			continue
		default:
			return false
		}
		found := false
		if whole != nil {
			ast.Inspect(whole, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				found = found || ok && strings.Contains(strings.ToLower(id.Name), "kind")
				return true
			})
		}
		return found
	}
	return false
}
