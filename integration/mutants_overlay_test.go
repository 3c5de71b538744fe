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

// mutantVariable is the environment variable that names the mutant that is switched on.
const mutantVariable = "TOLLGATE_MUTANT"

// A mutant is the protocol with one rule left out; the test that is named here must then fail. in
// is a function's name, with that of its receiver's type and of its package in front where the
// name alone is not enough: "readEnvelope", "Account.Fits", "accounts.Account.Fits".
//
// The function is looked for in all files of the module that ship, and the change at its only line
// that contains a text, without regard to white space: a mutant moves with its code. A function or
// a line that is not there, or is there twice, is an error. All mutants are in one build;
// mutantVariable switches one on. Files are not edited: `go build -overlay` puts edited copies in
// their place.
type mutant struct {
	name, in string
	change   mutation
	caught   string
}

// A mutation returns the lines of a function in which a mutant can be switched on.
type mutation func(lines []string, name string) ([]string, error)

// onLine makes a mutation of the statement that begins on the only line with a text, and ends on
// another one where that one opens a block.
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
			return nil, fmt.Errorf("%q stands there on %d lines:\n%s", text, len(found), strings.Join(lines, "\n"))
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

// unbroken is the end of a line that goes on in the next one.
var unbroken = regexp.MustCompile(`(,|&&|\|\|| [+*/-])\n\t+`)

// bare returns a text without white space.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// condition has the `if` whose condition contains a text look at something more.
func condition(text, more string) mutation {
	return onLine(text, func(line, _ *string, name string) error {
		if !strings.HasPrefix(strings.TrimLeft(*line, "\t} els"), "if ") || !strings.HasSuffix(*line, " {") {
			return fmt.Errorf("%q is in no condition: %s", text, *line)
		}
		from := max(strings.LastIndex(*line, "; "), strings.LastIndex(*line, "if ")+1) + 2
		*line = (*line)[:from] + "(" + strings.TrimSuffix((*line)[from:], " {") + fmt.Sprintf(more, name) + " {"
		return nil
	})
}

// always has an `if` take its body, never has it pass its body over.
func always(text string) mutation { return condition(text, ") || mutated(%q)") }
func never(text string) mutation  { return condition(text, ") && !mutated(%q)") }

// replace has an expression give something else. "f(…)" stands for the call of f, whatever its
// arguments are. Both values are computed.
func replace(of, is string) mutation {
	text, call := strings.CutSuffix(of, "…)")
	return onLine(text, func(line, _ *string, name string) error {
		from := strings.Index(*line, text)
		if from < 0 || strings.Count(*line, text) > 1 {
			return fmt.Errorf("%q stands there not once: %s", text, *line)
		}
		to := from + len(text)
		for open := 1; call && open > 0; to++ {
			open += strings.Count((*line)[to:to+1], "(") - strings.Count((*line)[to:to+1], ")")
		}
		*line = fmt.Sprintf("%smutate(%q, %s, %s)%s", (*line)[:from], name, is, (*line)[from:to], (*line)[to:])
		return nil
	})
}

// drop leaves a statement out.
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

// function is where a function stands in a file of the module.
type function struct {
	path, pkg string
	from, to  int // offsets
}

// shippedFunctions returns the functions of a module's files that ship, by their full names.
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
			failed = append(failed, fmt.Errorf("mutant %s: there are %d functions %s: was it renamed, or name its "+
				"package as well", m.name, len(found), m.in))
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
