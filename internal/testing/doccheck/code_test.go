package doccheck

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestEveryPackageHasADocFile(t *testing.T) {
	documented := map[string]string{} // directory → comment of doc.go
	packages := map[string]string{}
	for _, s := range sources(t) {
		packages[s.dir] = strings.TrimSuffix(s.file.Name.Name, "_test")
		small := s.file.Name.Name == "main" && s.file.Doc != nil // a program of one file
		if strings.HasSuffix(s.path, "/doc.go") || small {
			documented[s.dir] = s.file.Doc.Text()
		}
	}
	for dir, name := range packages {
		text, ok := documented[dir]
		switch {
		case !ok:
			t.Errorf("%s has no doc.go: say what the package is for, what it guarantees and what not", dir)
		case name != "main" && !strings.HasPrefix(text, "Package "+name+" "):
			t.Errorf("%s/doc.go: the comment must begin with \"Package %s\"", dir, name)
		case name == "main" && text == "":
			t.Errorf("%s: the program has no comment", dir)
		}
	}
}

// Programs (package main) may end the process; libraries return errors.
func TestLibrariesNeverEndTheProcess(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" {
			continue
		}
		for _, call := range endings(s.file) {
			t.Errorf("%s: %s: a library returns an error", s.path, call)
		}
	}
}

// endings lists the calls in a file that end the process or the goroutine.
func endings(file *ast.File) []string {
	imports := map[string]string{} // local name → path
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = path
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			if f.Name == "panic" {
				found = append(found, "panic")
			}
		case *ast.SelectorExpr:
			x, ok := f.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := imports[x.Name] + "." + f.Sel.Name
			if name == "os.Exit" || name == "runtime.Goexit" || strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Panic") {
				found = append(found, name)
			}
		}
		return true
	})
	return found
}

// A random test that ignores TOLLGATE_SEED draws the same in every run of .ci/run.
func TestRandomTestsDrawFromTheSeedOfTheRun(t *testing.T) {
	draws, seeded, sites := map[string]bool{}, map[string]bool{}, 0
	for _, s := range sources(t) {
		for _, i := range s.file.Imports {
			switch i.Path.Value {
			case `"pgregory.net/rapid"`:
				draws[s.dir] = true
			case `"github.com/tollgate-dp/tollgate/internal/testing/runseed"`:
				seeded[s.dir] = true
			}
		}
		if !s.test || s.dir == "internal/testing/runseed" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.path))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			sites += strings.Count(line, "runseed.")
			if ownSource.MatchString(line) && !strings.Contains(line, "runseed.") && !strings.Contains(line, " // fixed seed: ") {
				t.Errorf("%s:%d: use runseed.PCG, or say on the line why the seed never changes: // fixed seed: WHY", s.path, n+1)
			}
		}
	}
	delete(draws, "internal/testing/runseed")
	if len(draws) < 20 || sites < 60 {
		t.Fatalf("%d packages with properties, %d other draws: the test does not look where they are", len(draws), sites)
	}
	for dir := range draws {
		if !seeded[dir] {
			t.Errorf("%s: a test file must import internal/testing/runseed", dir)
		}
	}
}

var ownSource = regexp.MustCompile(`\brand\.(NewPCG|NewChaCha8|NewSource|Seed|Int|Uint|N\(|Float|Perm|Shuffle)`)
