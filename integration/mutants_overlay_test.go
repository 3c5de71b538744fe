package integration

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutantVariable is the environment variable that names the mutant that is switched on.
const mutantVariable = "TOLLGATE_MUTANT"

// A mutant is the protocol with one rule left out; the test that is named here must then fail. in
// is a function's name, with that of its receiver's type and of its package in front where the
// name alone is not enough: "readEnvelope", "Account.Fits", "accounts.Account.Fits".
//
// The function is looked for in all files of the module that ship, and the change is found in its
// syntax, without regard to white space and comments: a mutant moves with its code. A function or
// an expression that is not there, or is there twice, is an error. All mutants are in one build;
// mutantVariable switches one on. Files are not edited: `go build -overlay` puts edited copies in
// their place.
type mutant struct {
	name, in string
	change   mutation
	caught   string
}

// mutantHelpers are added to every package that is edited.
const mutantHelpers = `package %s

import "os"

var mutant = os.Getenv(%q)

func mutated(name string) bool { return name == mutant }

func mutate[T any](name string, changed, otherwise T) T {
	if mutated(name) {
		return changed
	}
	return otherwise
}
`

// file is a file of the module with what is to be inserted.
type file struct {
	path    string
	text    []byte
	set     *token.FileSet
	syntax  *ast.File
	inserts []insertion
}

// insertion is one side of what is put around a piece of code.
type insertion struct {
	at, other int // offsets of this side and of the other one
	text      string
}

// wrap puts text before and after a node.
func (f *file) wrap(n ast.Node, before, after string) {
	begin, end := f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
	f.inserts = append(f.inserts, insertion{begin, end, before}, insertion{end, begin, after})
}

// edited returns the file with its insertions. Where several come at one offset, those of the inner
// piece are next to it.
func (f *file) edited() ([]byte, error) {
	slices.SortStableFunc(f.inserts, func(a, b insertion) int { return cmp.Or(a.at-b.at, b.other-a.other) })
	var out []byte
	from := 0
	for _, i := range f.inserts {
		out = append(append(out, f.text[from:i.at]...), i.text...)
		from = i.at
	}
	out = append(out, f.text[from:]...)
	if _, err := format.Source(out); err != nil {
		return nil, fmt.Errorf("parsing %s with its mutants: %w", f.path, err)
	}
	return out, nil
}

// functions are the functions of a module by their full names.
type functions map[string][]*function

// named returns the only function of that name. The name may leave out the package, and the type
// before a method, where the rest is enough.
func (all functions) named(name string) (*function, error) {
	var found []*function
	var full []string
	for key, functions := range all {
		if key == name || strings.HasSuffix(key, "."+name) {
			found = append(found, functions...)
			full = append(full, key)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("looking for function %s: there is none in the module; was it renamed?", name)
	case 1:
		return found[0], nil
	}
	slices.Sort(full)
	return nil, fmt.Errorf("looking for function %s: it may be any of %d: %s; name the type or the package as well", name, len(found), strings.Join(full, ", "))
}

// add adds the functions of a file.
func (all functions) add(path string, text []byte) error {
	f := &file{path: path, text: text, set: token.NewFileSet()}
	var err error
	if f.syntax, err = parser.ParseFile(f.set, path, text, parser.SkipObjectResolution); err != nil {
		return fmt.Errorf("parsing the module: %w", err)
	}
	for _, d := range f.syntax.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil {
			name := f.syntax.Name.Name + "." + receiver(decl) + decl.Name.Name
			all[name] = append(all[name], &function{decl, f})
		}
	}
	return nil
}

// receiver returns the name of a method's type and a dot, without stars and parameters; empty for a
// function.
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) != 1 {
		return ""
	}
	typ := decl.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return ""
		}
	}
}

// shippedFunctions collects the functions of a module's files that ship.
func shippedFunctions(root string) (functions, error) {
	all := functions{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "testing"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return all.add(path, text)
	})
	return all, err
}

// apply makes the changes and returns the edited files and the helpers by path.
func (all functions) apply(list []mutant) (map[string][]byte, error) {
	var failed []error
	files := map[string]*file{}
	for _, m := range list {
		f, err := all.named(m.in)
		if err == nil {
			err = m.change(f, m.name)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("mutant %s: %w", m.name, err))
			continue
		}
		files[f.file.path] = f.file
	}
	out := map[string][]byte{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text, err := files[path].edited()
		if err != nil {
			failed = append(failed, err)
		}
		out[path] = text
		helper := filepath.Join(filepath.Dir(path), "mutated.go")
		out[helper] = fmt.Appendf(nil, mutantHelpers, files[path].syntax.Name.Name, mutantVariable)
	}
	return out, errors.Join(failed...)
}

// overlay writes the edited files of the module at root below dir, and returns the path of the
// description that `go build -overlay` takes.
func overlay(root, dir string, list []mutant) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("looking for the module: %w", err)
	}
	all, err := shippedFunctions(root)
	if err != nil {
		return "", fmt.Errorf("reading the module: %w", err)
	}
	files, err := all.apply(list)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		replace[path] = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, root), string(filepath.Separator), "_"))
		if err := os.WriteFile(replace[path], text, 0o600); err != nil {
			return "", fmt.Errorf("writing the mutants: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("describing the mutants: %w", err)
	}
	description := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(description, text, 0o600); err != nil {
		return "", fmt.Errorf("describing the mutants: %w", err)
	}
	return description, nil
}
