package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What rapid drew in all its cases says nothing about the code, and a short run draws fewer of
// them: a test that asks for it fails with some seeds.
func TestNoTestAsksWhatRapidHappenedToDraw(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.path))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, n := range asksWhatWasDrawn(s.fset, s.file) {
			if !strings.Contains(lines[n-1], " // by chance: ") {
				t.Errorf("%s:%d: try the property on an example that shows it, or say on the line how rarely this fails: // by chance: RATE", s.path, n)
			}
		}
	}
}

func TestWhatWasDrawnIsRecognised(t *testing.T) {
	const text = `package p
func f(t *testing.T) {
	seen, steps, limit := 0, 0, 1
	rapid.Check(t, func(t *rapid.T) { own := 0; own++; seen++; steps = max(steps, own) })
	if limit == 0 { t.Error() }
	if err := g(); err != nil { t.Error() }
	if seen == 0 { t.Error() }
	if limit > 0 && h(steps) { t.Logf(""); t.Fatalf("") }
	if seen > 1 { println() }
}
func g(t *testing.T) {
	n := 0
	for range 9 { n++ }
	if n == 0 { t.Error() }
	rapid.Check(t, func(t *rapid.T) { n := 1; n++ })
	if n == 0 { t.Error() }
}`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := asksWhatWasDrawn(fset, file), []int{7, 8}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

// asksWhatWasDrawn returns the lines of conditions that fail a test by what the closure of a
// rapid.Check before them in the same block wrote to variables outside.
func asksWhatWasDrawn(fset *token.FileSet, file *ast.File) (lines []int) {
	ast.Inspect(file, func(n ast.Node) bool {
		block, ok := n.(*ast.BlockStmt)
		if !ok {
			return true
		}
		written := map[string]bool{}
		for _, statement := range block.List {
			if c, ok := statement.(*ast.IfStmt); ok && mentions(c.Cond, written) && failsATest(c.Body) {
				lines = append(lines, fset.Position(c.Pos()).Line)
			}
			if e, ok := statement.(*ast.ExprStmt); ok {
				if call, ok := e.X.(*ast.CallExpr); ok && isCallOf(call, "rapid", "Check") {
					addWritten(call, written)
				}
			}
		}
		return true
	})
	return lines
}

func isCallOf(call *ast.CallExpr, pkg, name string) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// addWritten adds the variables that a call's closures assign to and do not define.
func addWritten(call *ast.CallExpr, written map[string]bool) {
	assigned, own := map[string]bool{}, map[string]bool{}
	add := func(e ast.Expr, to map[string]bool) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				e = x.X
				continue
			case *ast.Ident:
				to[x.Name] = true
			}
			return
		}
	}
	ast.Inspect(call, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			for _, e := range s.Lhs {
				if s.Tok == token.DEFINE {
					add(e, own)
				} else {
					add(e, assigned)
				}
			}
		case *ast.IncDecStmt:
			add(s.X, assigned)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				own[name.Name] = true
			}
		}
		return true
	})
	for name := range assigned {
		if !own[name] {
			written[name] = true
		}
	}
}

func mentions(e ast.Expr, names map[string]bool) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		x, ok := n.(*ast.Ident)
		found = found || ok && names[x.Name]
		return true
	})
	return found
}

// failsATest says whether a block calls Error, Errorf, Fatal or Fatalf.
func failsATest(block *ast.BlockStmt) (found bool) {
	ast.Inspect(block, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		found = found || ok && (strings.HasPrefix(s.Sel.Name, "Error") || strings.HasPrefix(s.Sel.Name, "Fatal"))
		return true
	})
	return found
}
