package doccheck

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// Programs outside the module cannot import internal packages, and go doc shows only the names of
// their types.
func TestNoPublicIdentifierHasAnInternalType(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if s.test || strings.Contains(s.dir+"/", "internal/") || s.file.Name.Name == "main" {
			continue
		}
		internal := map[string]bool{} // names of internal packages in the file
		for _, i := range s.file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			name := path[strings.LastIndex(path, "/")+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			internal[name] = internal[name] || strings.Contains(path, "/internal/")
		}
		for name, typ := range publicTypes(s.file) {
			seen++
			ast.Inspect(typ, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := selector.X.(*ast.Ident); ok && internal[pkg.Name] {
						t.Errorf("%s: %s has the internal type %s.%s", s.path, name, pkg.Name, selector.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if seen < 1000 {
		t.Fatalf("found only %d types of exported identifiers: the test searches the wrong files", seen)
	}
}

// publicTypes returns the types in the exported declarations of a file, by identifier.
func publicTypes(file *ast.File) map[string]ast.Expr {
	types := map[string]ast.Expr{}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if receiver := receiverOf(d); d.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
				types[strings.TrimPrefix(receiver+"."+d.Name.Name, ".")] = d.Type
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						addTypes(types, spec.Name.Name, spec.Type)
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() && spec.Type != nil && d.Tok != token.IMPORT {
							types[name.Name] = spec.Type
						}
					}
				}
			}
		}
	}
	return types
}

// addTypes adds a declared type. For a struct or an interface, it adds the types of exported fields
// or methods, and embedded types.
func addTypes(types map[string]ast.Expr, name string, typ ast.Expr) {
	var fields *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		types[name] = typ
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			types[name+" (embedded)"] = f.Type
		}
		for _, field := range f.Names {
			if field.IsExported() {
				types[name+"."+field.Name] = f.Type
			}
		}
	}
}

// receiverOf returns the name of a method's receiver type, or "" for a function.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}
