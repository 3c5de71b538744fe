package integration

import (
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
	"regexp"
	"slices"
	"strings"
)

// mutantVariable is the environment variable that switches a mutant on, by its name.
const mutantVariable = "TOLLGATE_MUTANT"

// A mutant is the protocol without one of its rules.
//
// Its function is searched in all shipped files of the module, and its line by a text that only
// that line contains, white space aside: so a mutant moves with its code. A function or line that
// is missing or ambiguous is an error. One build has all mutants. The files themselves do not
// change: `go build -overlay` uses edited copies.
type mutant struct {
	name   string
	in     string // function; with its receiver and package if that is ambiguous: "accounts.Account.Fits"
	change mutation
	caught string // test that must fail
}

// A mutation returns the lines of a function with a mutant that can be switched on.
type mutation func(lines []string, name string) ([]string, error)

// onLine returns a mutation that edits the first and the last line of a statement, which begins on
// the only line with a text.
func onLine(text string, edit func(first, last *string, name string) error) mutation {
	return func(lines []string, name string) ([]string, error) {
		found := slices.Collect(func(yield func(int) bool) {
			for i, line := range lines {
				if strings.Contains(bare(line), bare(text)) && !yield(i) {
					return
				}
			}
		})
		if len(found) != 1 {
			return nil, fmt.Errorf("%q is on %d lines:\n%s", text, len(found), strings.Join(lines, "\n"))
		}
		first, last := found[0], found[0]
		if line := lines[first]; strings.HasSuffix(line, "{") || strings.HasSuffix(line, "(") {
			indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
			for last++; !strings.HasPrefix(lines[last], indent+"}") && !strings.HasPrefix(lines[last], indent+")"); {
				last++
			}
		}
		for _, i := range []int{first, last} {
			lines[i], _, _ = strings.Cut(lines[i], " // ")
		}
		return lines, edit(&lines[first], &lines[last], name)
	}
}

// unbroken matches the end of a line in the middle of an expression.
var unbroken = regexp.MustCompile(`(,|&&|\|\|| [+*/-])\n\t+`)

// bare returns a text without white space.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// condition adds to the condition of the `if` that contains a text.
func condition(text, more string) mutation {
	return onLine(text, func(line, _ *string, name string) error {
		if !strings.HasPrefix(strings.TrimLeft(*line, "\t} els"), "if ") || !strings.HasSuffix(*line, " {") {
			return fmt.Errorf("%q is not in a condition: %s", text, *line)
		}
		from := max(strings.LastIndex(*line, "; "), strings.LastIndex(*line, "if ")+1) + 2
		*line = (*line)[:from] + "(" + strings.TrimSuffix((*line)[from:], " {") + fmt.Sprintf(more, name) + " {"
		return nil
	})
}

// always makes the condition of an `if` true, never makes it false.
func always(text string) mutation { return condition(text, ") || mutated(%q)") }
func never(text string) mutation  { return condition(text, ") && !mutated(%q)") }

// replace replaces the value of an expression; both are computed. "f(…)" means the call of f with
// any arguments.
func replace(expression, value string) mutation {
	text, call := strings.CutSuffix(expression, "…)")
	return onLine(text, func(line, _ *string, name string) error {
		from := strings.Index(*line, text)
		if from < 0 || strings.Count(*line, text) > 1 {
			return fmt.Errorf("%q is not there exactly once: %s", text, *line)
		}
		to := from + len(text)
		for open := 1; call && open > 0; to++ {
			open += strings.Count((*line)[to:to+1], "(") - strings.Count((*line)[to:to+1], ")")
		}
		*line = fmt.Sprintf("%smutate(%q, %s, %s)%s", (*line)[:from], name, value, (*line)[from:to], (*line)[to:])
		return nil
	})
}

// drop skips a statement.
func drop(statement string) mutation {
	return onLine(statement, func(first, last *string, name string) error {
		*last += " }"
		*first = fmt.Sprintf("if !mutated(%q) { ", name) + *first
		return nil
	})
}

// insertBefore runs code before a statement, insertAfter after it.
func insertBefore(statement, code string) mutation {
	return onLine(statement, func(first, _ *string, name string) error {
		*first = fmt.Sprintf("if mutated(%q) { %s }; ", name, code) + *first
		return nil
	})
}

func insertAfter(statement, code string) mutation {
	return onLine(statement, func(_, last *string, name string) error {
		*last += fmt.Sprintf("; if mutated(%q) { %s }", name, code)
		return nil
	})
}

// mutantHelpers is added to every edited package.
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

// function is the place of a function in the module.
type function struct {
	path, pkg string
	from, to  int // offsets
}

// shippedFunctions returns the functions in the shipped files of a module, by their full names.
func shippedFunctions(root string) (map[string][]function, error) {
	all := map[string][]function{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
			name == "testdata" || name == "testing"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing the module: %w", err)
		}
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				full := file.Name.Name + "." + receiver(decl) + decl.Name.Name
				all[full] = append(all[full], function{path, file.Name.Name, set.Position(decl.Pos()).Offset,
					set.Position(decl.End()).Offset})
			}
		}
		return nil
	})
	return all, err
}

// receiver returns the name of a method's type and a dot; empty for a function.
func receiver(decl *ast.FuncDecl) (name string) {
	if decl.Recv != nil {
		ast.Inspect(decl.Recv.List[0].Type, func(n ast.Node) bool {
			if ident, ok := n.(*ast.Ident); ok && name == "" {
				name = ident.Name + "."
			}
			return true
		})
	}
	return name
}

// overlay writes edited copies of the module's files to dir, and returns the path of the file for
// `go build -overlay`.
func overlay(root, dir string, list []mutant) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("looking for the module: %w", err)
	}
	all, err := shippedFunctions(root)
	if err != nil {
		return "", fmt.Errorf("reading the module: %w", err)
	}
	texts, edited := map[string]string{}, map[function][]string{} // by path; the lines of functions
	var failed []error
	for _, m := range list {
		var found []function
		for full, functions := range all {
			if full == m.in || strings.HasSuffix(full, "."+m.in) {
				found = append(found, functions...)
			}
		}
		if len(found) != 1 {
			failed = append(failed, fmt.Errorf("mutant %s: there are %d functions %s: correct the name, or add its "+
				"package", m.name, len(found), m.in))
			continue
		}
		f := found[0]
		if texts[f.path] == "" {
			text, err := os.ReadFile(f.path)
			if err != nil {
				return "", fmt.Errorf("reading the module: %w", err)
			}
			texts[f.path] = string(text)
		}
		if edited[f] == nil {
			edited[f] = strings.Split(unbroken.ReplaceAllString(texts[f.path][f.from:f.to], "$1 "), "\n")
		}
		if lines, err := m.change(edited[f], m.name); err != nil {
			failed = append(failed, fmt.Errorf("mutant %s in %s: %w", m.name, m.in, err))
		} else {
			edited[f] = lines
		}
	}
	// The last function of a file first: the offsets of the others stay.
	order := slices.SortedFunc(maps.Keys(edited), func(a, b function) int { return b.from - a.from })
	for _, f := range order {
		texts[f.path] = texts[f.path][:f.from] + strings.Join(edited[f], "\n") + texts[f.path][f.to:]
		texts[filepath.Join(filepath.Dir(f.path), "mutated.go")] = fmt.Sprintf(mutantHelpers, f.pkg, mutantVariable)
	}
	replaced := map[string]string{}
	for path, text := range texts {
		_, parses := format.Source([]byte(text))
		replaced[path] = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, root),
			string(filepath.Separator), "_"))
		if err := errors.Join(parses, os.WriteFile(replaced[path], []byte(text), 0o600)); err != nil {
			failed = append(failed, fmt.Errorf("writing the mutants of %s: %w", path, err))
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", fmt.Errorf("describing the mutants: %w", err)
	}
	description := filepath.Join(dir, "overlay.json")
	return description, errors.Join(append(failed, os.WriteFile(description, text, 0o600))...)
}
