package filter

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// Comparison is a pair of a field and a constant that a filter compares by ==, != or in.
type Comparison struct {
	Field string
	With  any    // nil, bool, string or, for a number, float64
	Text  string // the constant as written in the filter
}

// Comparisons returns the comparisons in a valid filter, except comparisons of a field's members.
func Comparisons(text string) []Comparison {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil
	}
	var c comparer
	ast.Walk(&tree.Node, &c)
	return c.comparisons
}

type comparer struct{ comparisons []Comparison }

// Visit implements ast.Visitor.
func (c *comparer) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok {
		return
	}
	switch n.Operator {
	case "==", "!=":
		c.add(n.Left, n.Right)
		c.add(n.Right, n.Left)
	case "in":
		if list, ok := n.Right.(*ast.ArrayNode); ok {
			for _, item := range list.Nodes {
				c.add(n.Left, item)
			}
		}
	}
}

func (c *comparer) add(field, constant ast.Node) {
	name := ""
	switch n := field.(type) {
	case *ast.IdentifierNode:
		name = n.Value
	case *ast.MemberNode: // $env["a name"]
		root, ok := n.Node.(*ast.IdentifierNode)
		property, isString := n.Property.(*ast.StringNode)
		if !ok || !isString || root.Value != "$env" {
			return
		}
		name = property.Value
	default:
		return
	}
	comparison := Comparison{Field: name, Text: constant.String()}
	switch n := constant.(type) {
	case *ast.NilNode:
	case *ast.BoolNode:
		comparison.With = n.Value
	case *ast.StringNode:
		comparison.With = n.Value
	case *ast.IntegerNode:
		comparison.With = float64(n.Value)
	case *ast.FloatNode:
		comparison.With = n.Value
	default:
		return
	}
	c.comparisons = append(c.comparisons, comparison)
}
