package layers

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestImportsStandInThreeBlocks(t *testing.T) {
	for _, f := range files(t) {
		if problem := disorder(f.set, f.syntax); problem != "" {
			t.Errorf("%s: %s: imports are the standard library's, a blank line, those of other modules, a blank line, our own", f.path, problem)
		}
	}
}

// disorder says where imports are not in three blocks; empty where they are.
func disorder(set *token.FileSet, file *ast.File) string {
	line := func(at token.Pos) int { return set.Position(at).Line }
	last, end := -1, 0
	for _, i := range file.Imports {
		begin := line(i.Pos())
		if i.Doc != nil {
			begin = line(i.Doc.Pos())
		}
		block := blockOf(path(i))
		switch blank := begin-end > 1; {
		case last < 0:
		case block < last:
			return path(i) + " comes too late"
		case block > last && !blank:
			return "a blank line is missing before " + path(i)
		case block == last && blank:
			return "a blank line stands before " + path(i)
		}
		last, end = block, line(i.End())
	}
	return ""
}

// blockOf is where an import belongs: the standard library has no dot in the first part of its
// paths.
func blockOf(path string) int {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == own || strings.HasPrefix(path, own+"/"):
		return 2
	case strings.Contains(first, "."):
		return 1
	}
	return 0
}
