package filter

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// Comparison is a field and a constant that a filter compares by ==, != or in.
type Comparison struct {
	Field string
	With  any    // nil, bool, string or, for a number, float64
	Text  string // text of the constant
}

// Comparisons returns the comparisons in a valid filter, except those of members within a field.
func Comparisons(text string) []Comparison {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil
	}
	var c comparer
	ast.Walk(&tree.Node, &c)
	return c.found
}

type comparer struct{ found []Comparison }

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
		property, is := n.Property.(*ast.StringNode)
		if !ok || !is || root.Value != "$env" {
			return
		}
		name = property.Value
	default:
		return
	}
	found := Comparison{Field: name, Text: constant.String()}
	switch n := constant.(type) {
	case *ast.NilNode:
	case *ast.BoolNode:
		found.With = n.Value
	case *ast.StringNode:
		found.With = n.Value
	case *ast.IntegerNode:
		found.With = float64(n.Value)
	case *ast.FloatNode:
		found.With = n.Value
	default:
		return
	}
	c.found = append(c.found, found)
}
