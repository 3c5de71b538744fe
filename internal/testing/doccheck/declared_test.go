package doccheck

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// declared is what the tree's Go files declare, for looking up the names that pages use.
type declared struct {
	packages map[string][]string        // name → directories
	tops     map[string]map[string]bool // directory or file → identifiers at top level, and Type.method
	members  map[string]map[string][]string
	imported map[string]bool // names of the packages that files import, ours and others'
	names    map[string]bool // every identifier at top level, method and field
}

// declarations reads the tree. Types of one name in several packages are one in members, which
// has, by type and member, the types that the member has or leads to.
func declarations(t *testing.T) *declared {
	t.Helper()
	d := &declared{packages: map[string][]string{}, tops: map[string]map[string]bool{},
		members: map[string]map[string][]string{}, imported: map[string]bool{}, names: map[string]bool{}}
	for _, s := range sources(t) {
		name := strings.TrimSuffix(s.file.Name.Name, "_test")
		if !slices.Contains(d.packages[name], s.dir) {
			d.packages[name] = append(d.packages[name], s.dir)
		}
		for _, i := range s.file.Imports {
			of := path.Base(strings.Trim(i.Path.Value, `"`))
			if i.Name != nil {
				of = i.Name.Name
			}
			d.imported[of] = true
		}
		for _, decl := range s.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				d.function(s, decl)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					d.spec(s, spec)
				}
			}
		}
	}
	return d
}

// top enters an identifier of a file.
func (d *declared) top(s source, name string) {
	for _, at := range []string{s.dir, s.path} {
		if d.tops[at] == nil {
			d.tops[at] = map[string]bool{}
		}
		d.tops[at][name] = true
	}
	d.names[name] = true
}

// member enters a method or field of a type, with the types that it leads to.
func (d *declared) member(of, name string, types ...string) {
	if d.members[of] == nil {
		d.members[of] = map[string][]string{}
	}
	d.members[of][name] = append(d.members[of][name], types...)
	d.names[name] = true
}

func (d *declared) function(s source, f *ast.FuncDecl) {
	d.top(s, f.Name.Name)
	if f.Recv == nil {
		return
	}
	for _, of := range typeNames(f.Recv.List[0].Type) {
		d.member(of, f.Name.Name)
		d.top(s, of+"."+f.Name.Name)
	}
}

func (d *declared) spec(s source, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			d.top(s, name.Name)
		}
	case *ast.TypeSpec:
		d.top(s, spec.Name.Name)
		d.member(spec.Name.Name, "")
		var fields *ast.FieldList
		switch typ := spec.Type.(type) {
		case *ast.StructType:
			fields = typ.Fields
		case *ast.InterfaceType:
			fields = typ.Methods
		default: // type A = p.B has the members of B
			d.member(spec.Name.Name, "", typeNames(typ)...)
			return
		}
		for _, f := range fields.List {
			if len(f.Names) == 0 { // embedded: reached under its own name, and its members are the type's
				d.member(spec.Name.Name, "", typeNames(f.Type)...)
				for _, name := range typeNames(f.Type) {
					d.member(spec.Name.Name, name, name)
				}
			}
			for _, name := range f.Names {
				d.member(spec.Name.Name, name.Name, typeNames(f.Type)...)
			}
		}
	}
}

// typeNames lists the names of the types that an expression of a type is made of, without their
// packages: Foo of *p.Foo and of []p.Foo.
func typeNames(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.Ident:
		return []string{e.Name}
	case *ast.SelectorExpr:
		return []string{e.Sel.Name}
	case *ast.StarExpr:
		return typeNames(e.X)
	case *ast.ArrayType:
		return typeNames(e.Elt)
	case *ast.MapType:
		return typeNames(e.Value)
	case *ast.IndexExpr:
		return typeNames(e.X)
	case *ast.IndexListExpr:
		return typeNames(e.X)
	}
	return nil
}

// reaches says whether a chain of members leads anywhere from one of these types.
func (d *declared) reaches(types []string, chain []string, seen ...string) bool {
	if len(chain) == 0 {
		return true
	}
	for _, of := range types {
		if slices.Contains(seen, of) {
			continue
		}
		next, ok := d.members[of][chain[0]]
		if ok && d.reaches(next, chain[1:]) || d.reaches(d.members[of][""], chain, append(seen, of)...) {
			return true
		}
	}
	return false
}

// leads lists the types of which a name is one, or a field of which has one.
func (d *declared) leads(name string) []string {
	types := []string{name}
	for _, members := range d.members {
		types = append(types, members[name]...)
	}
	slices.Sort(types)
	return slices.Compact(types)
}
