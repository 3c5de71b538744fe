package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Limits of a filter.
const (
	MaxBytes   = 4096 // length of a filter's text
	maxNodes   = 1000
	maxRange   = 1000 // numbers in a range a..b
	memoryCost = 10000
)

// Fields returns the sorted names of the event fields that a filter uses, without the names of
// members of these fields. If the text is not a Boolean expression over an event's fields, Fields
// returns an error with the line and column.
func Fields(text string) ([]string, error) {
	f, err := compile(text)
	if err != nil {
		return nil, err
	}
	slices.Sort(f.names)
	return f.names, nil
}

// compiled is a compiled filter.
type compiled struct {
	program *vm.Program
	names   []string   // fields used, in order of first use
	needs   [][]string // paths that an event must have to pass
}

func compile(text string) (*compiled, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("reading filter: it is empty; leave it out to accept every event")
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("reading filter: %d bytes; the limit is %d", len(text), MaxBytes)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading filter: %w%s", err, hintAt(err))
	}
	w := walker{}
	w.visit(tree.Node, false)
	if w.fault != nil {
		return nil, fmt.Errorf("reading filter: %w", w.fault.Bind(tree.Source))
	}
	program, err := expr.Compile(text, expr.Env(map[string]any{}), expr.AllowUndefinedVariables(),
		expr.DisableAllBuiltins(), expr.AsBool(), expr.MaxNodes(maxNodes))
	if err != nil {
		return nil, fmt.Errorf("reading filter: %w", err)
	}
	return &compiled{program: program, names: w.names, needs: w.needs}, nil
}

// hintAt returns a hint that suggests the operator that was probably meant, or "".
func hintAt(err error) string {
	if strings.Contains(err.Error(), `Operator("=")`) {
		return "\n write == instead of ="
	}
	return ""
}

// walker finds the fields that a filter uses and the first part that is not allowed.
type walker struct {
	names []string
	needs [][]string
	fault *file.Error
}

func (w *walker) refuse(n ast.Node, reason string) {
	if w.fault == nil {
		w.fault = &file.Error{Location: n.Location(), Message: reason}
	}
}

// visit walks an expression. optional is set to the left of "??", where a missing field is nil.
func (w *walker) visit(node ast.Node, optional bool) {
	switch n := node.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode:
		w.path(n, optional)
	case *ast.UnaryNode:
		w.visit(n.Node, false)
	case *ast.BinaryNode:
		w.binary(n, optional)
	case *ast.ConditionalNode:
		w.visit(n.Cond, false)
		w.visit(n.Exp1, false)
		w.visit(n.Exp2, false)
	case *ast.SliceNode:
		w.visit(n.Node, false)
		for _, end := range []ast.Node{n.From, n.To} {
			if end != nil {
				w.visit(end, false)
			}
		}
	case *ast.ArrayNode:
		for _, item := range n.Nodes {
			w.visit(item, false)
		}
	case *ast.CallNode, *ast.BuiltinNode, *ast.PredicateNode, *ast.PointerNode:
		w.refuse(n, "filters have no functions")
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		w.refuse(n, "filters have no variables")
	default:
		w.refuse(n, "filters can only compare fields, numbers, strings and lists")
	}
}

func (w *walker) binary(n *ast.BinaryNode, optional bool) {
	switch n.Operator {
	case "??":
		w.visit(n.Left, true)
		w.visit(n.Right, optional)
		return
	case "matches":
		if _, ok := n.Right.(*ast.StringNode); !ok {
			w.refuse(n.Right, "the pattern of matches must be a string: a pattern from the event would be compiled "+
				"for every event")
		}
	case "..":
		from, ok1 := n.Left.(*ast.IntegerNode)
		to, ok2 := n.Right.(*ast.IntegerNode)
		if !ok1 || !ok2 || to.Value < from.Value || to.Value-from.Value >= maxRange {
			w.refuse(n, fmt.Sprintf("a range a..b must be between two integers, the second not below the first, and "+
				"have at most %d numbers", maxRange))
		}
	}
	w.visit(n.Left, false)
	w.visit(n.Right, false)
}

// path records the use of a field or of a chain of its members. To pass, an event must have the
// part of the chain before the first "?." or index.
func (w *walker) path(node ast.Node, optional bool) {
	var members []*ast.MemberNode // from the last to the first
	for {
		if c, ok := node.(*ast.ChainNode); ok {
			node = c.Node
			continue
		}
		m, ok := node.(*ast.MemberNode)
		if !ok {
			break
		}
		members = append(members, m)
		node = m.Node
	}
	slices.Reverse(members)
	root, ok := node.(*ast.IdentifierNode)
	if !ok {
		w.visit(node, false)
	}
	var need []string
	fixed := ok
	if ok && root.Value != "$env" {
		need = []string{root.Value}
	}
	for _, m := range members {
		name, isName := m.Property.(*ast.StringNode)
		if ok && need == nil {
			// $env["a name"] is a field whose name is not an identifier.
			if !isName {
				break
			}
			need = []string{name.Value}
			continue
		}
		fixed = fixed && isName && !m.Optional
		if fixed {
			need = append(need, name.Value)
		}
		if !isName {
			w.visit(m.Property, false)
		}
	}
	switch {
	case !ok:
	case need == nil:
		w.refuse(node, `$env can only precede the name of a field: $env["a name"]`)
	default:
		if !slices.Contains(w.names, need[0]) {
			w.names = append(w.names, need[0])
		}
		if !optional {
			w.needs = append(w.needs, need)
		}
	}
}
