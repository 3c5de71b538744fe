package doccheck

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A test is named in docs/rules.md as `directory.TestName`.
var namedTest = regexp.MustCompile("`([a-z/0-9]+)\\.((?:Test|Fuzz|Example)[A-Za-z0-9_]*)`")

func TestTableOfRulesIsComplete(t *testing.T) {
	there := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				there[s.dir+"."+f.Name.Name] = true
			}
		}
	}
	named := map[string]bool{}
	for _, m := range namedTest.FindAllStringSubmatch(read(t, "docs/rules.md"), -1) {
		named[m[1]+"."+m[2]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !there[name] {
			t.Errorf("docs/rules.md names %s, which does not exist", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		_, test, _ := strings.Cut(name, ".")
		guards := strings.HasPrefix(test, "TestRule") || strings.HasPrefix(test, "TestInvariant")
		if guards && !named[name] {
			t.Errorf("docs/rules.md does not name `%s`: add it to the rule that it guards", name)
		}
	}
}

func TestEveryInvariantHasATest(t *testing.T) {
	text := read(t, "docs/rules.md")
	for n := 1; n <= 9; n++ {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \|.*$`, n)).FindString(text)
		if !namedTest.MatchString(row) {
			t.Errorf("docs/rules.md names no test of invariant %d", n)
		}
	}
}
