package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the module's directory, seen from this package.
const root = "../../.."

// source is one parsed Go file.
type source struct {
	path string // from the module's directory, with slashes
	dir  string
	test bool
	text string
	file *ast.File
}

// parsed returns all Go files of the module except test data.
var parsed = sync.OnceValues(func() (out []source, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (hidden || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || hidden || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		out = append(out,
			source{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(name, "_test.go"), string(text), file})
		return nil
	})
	return out, err
})

func sources(t *testing.T) []source {
	t.Helper()
	out, err := parsed()
	if err != nil || len(out) < 100 {
		t.Fatalf("found %d Go files (%v): is %s the module's directory?", len(out), err, root)
	}
	return out
}

// read reads a file of the module.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
