package integration

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"strings"
)

// A mutation is what is different in a function while a mutant is switched on.
type mutation func(f *function, name string) error

// always has the one `if` whose condition contains this text take its body.
func always(condition string) mutation {
	return func(f *function, name string) error {
		return f.condition(condition, fmt.Sprintf(") || mutated(%q)", name))
	}
}

// never has the one `if` whose condition contains this text pass its body over.
func never(condition string) mutation {
	return func(f *function, name string) error {
		return f.condition(condition, fmt.Sprintf(") && !mutated(%q)", name))
	}
}

// replace has an expression give something else. "f(…)" stands for the call of f, whatever its
// arguments are. Both values are computed.
func replace(of, is string) mutation {
	return func(f *function, name string) error {
		var found []ast.Node
		ast.Inspect(f.decl.Body, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && f.gives(e, of) {
				found = append(found, n)
			}
			return true
		})
		at, err := f.single("expression", of, found)
		if err != nil {
			return err
		}
		f.file.wrap(at, fmt.Sprintf("mutate(%q, %s, ", name, is), ")")
		return nil
	}
}

// drop leaves the innermost statement that contains this text out.
func drop(statement string) mutation {
	return func(f *function, name string) error {
		at, err := f.statement(statement)
		if err == nil {
			f.file.wrap(at, fmt.Sprintf("if !mutated(%q) { ", name), " }")
		}
		return err
	}
}

// insertBefore runs code before the innermost statement that contains this text.
func insertBefore(statement, code string) mutation {
	return func(f *function, name string) error {
		at, err := f.statement(statement)
		if err == nil {
			f.file.wrap(at, fmt.Sprintf("if mutated(%q) { %s }; ", name, code), "")
		}
		return err
	}
}

// insertAfter runs code after the innermost statement that contains this text.
func insertAfter(statement, code string) mutation {
	return func(f *function, name string) error {
		at, err := f.statement(statement)
		if err == nil {
			f.file.wrap(at, "", fmt.Sprintf("; if mutated(%q) { %s }", name, code))
		}
		return err
	}
}

// both makes several changes in one function.
func both(changes ...mutation) mutation {
	return func(f *function, name string) error {
		for _, c := range changes {
			if err := c(f, name); err != nil {
				return err
			}
		}
		return nil
	}
}

// function is a function's declaration and what is to be inserted into its file.
type function struct {
	decl *ast.FuncDecl
	file *file
}

// bare returns a text without white space.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// printed returns the code of a node, without white space and comments.
func (f *function) printed(n ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, f.file.set, n); err != nil {
		return "" // contains nothing that is looked for
	}
	return bare(b.String())
}

// gives says whether an expression is the one that is described.
func (f *function) gives(e ast.Expr, described string) bool {
	name, ok := strings.CutSuffix(described, "(…)")
	if !ok {
		return f.printed(e) == bare(described)
	}
	call, ok := e.(*ast.CallExpr)
	return ok && f.printed(call.Fun) == bare(name)
}

// single returns the only node of those found, else an error with the function's code.
func (f *function) single(what, text string, found []ast.Node) (ast.Node, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	var b bytes.Buffer
	if err := format.Node(&b, f.file.set, f.decl); err != nil {
		return nil, fmt.Errorf("printing %s: %w", f.decl.Name.Name, err)
	}
	return nil, fmt.Errorf("looking for the %s %q in %s: it stands there %d times:\n%s", what, text, f.file.path, len(found), b.String())
}

// condition puts the condition that contains a text in brackets that end with something more.
func (f *function) condition(text, more string) error {
	var found []ast.Node
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.IfStmt); ok && strings.Contains(f.printed(s.Cond), bare(text)) {
			found = append(found, s.Cond)
		}
		return true
	})
	at, err := f.single("condition", text, found)
	if err != nil {
		return err
	}
	f.file.wrap(at, "(", more)
	return nil
}

// statement returns the innermost one of a list of statements that contains a text.
func (f *function) statement(text string) (ast.Node, error) {
	var found []ast.Node
	var within func(list []ast.Stmt) bool
	inner := func(n ast.Node) (hit bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				hit = within(n.List) || hit
			case *ast.CaseClause:
				hit = within(n.Body) || hit
			case *ast.CommClause:
				hit = within(n.Body) || hit
			default:
				return true
			}
			return false
		})
		return hit
	}
	within = func(list []ast.Stmt) (hit bool) {
		for _, s := range list {
			switch {
			case !strings.Contains(f.printed(s), bare(text)):
			case !inner(s):
				found = append(found, s)
				fallthrough
			default:
				hit = true
			}
		}
		return hit
	}
	within(f.decl.Body.List)
	return f.single("statement", text, found)
}
