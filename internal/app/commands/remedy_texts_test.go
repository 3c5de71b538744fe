package commands

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sourceText is a text of the program that names a remedy. What is computed at run time stands in
// it as a verb of package fmt.
type sourceText struct {
	at, text string
	printed  *regexp.Regexp // matches it as it is printed
}

var (
	// remedies are what an operator can type: a command, a flag, a field of the configuration, a
	// setting of a topic; or what an operator is told to do with a topic, a run or a deployment.
	remedies = regexp.MustCompile(`\b(tollgate|init|change|recover) (--|init|run|change|validate|recover|status|replay|serve|plan|demo|probe)\b` +
		`|--[a-z][a-z-]+|kafka-[a-z-]+\.sh|openssl|chmod|iconv` +
		`|\b(kafka|events|privacy|time|metrics|keys|outputs|coverage|ladder)\.[a-z_]+|[a-z]+(\.[a-z]+)+=` +
		`|\brestore (it|them|the)\b|for example [a-z_]+: |\bbegin (it with|a new|another deployment|with the|again with)\b|\bstart (it )?again\b|\brun (again|init|recover|the old)\b|\bdrain (it|the|that)\b|\bname (a|an|another) |\bput the\b`)
	// places are texts of which a flag is where something is wrong, and no remedy.
	places = regexp.MustCompile(`^tollgate plan (order|arguments|choice|table|trial|noise)[a-z ]*( %s| v[0-9])?$|^((reading|opening|writing|looking for( fields in)?|answering without) )?--[a-z-]+( %[a-z])?:? (%[a-z]|is %[a-z])$`)
	// A text has a word beside the flags and fields that it names; else it is a part of one.
	tokens = regexp.MustCompile(`--?[a-z][a-z-]*|[a-z_]+(\.[a-z_]+)+|%[-+.0-9]*[a-z]`)
	words  = regexp.MustCompile(`[a-z]{2,}`)
	verb   = regexp.MustCompile(`%[-+# 0-9.]*(\[\d+\])?[a-zA-Z%]`)
)

// sourceTexts returns the texts of all programs and libraries of the module that name a remedy.
// Help and the reference of the configuration are left out: other tests run what they show.
func sourceTexts(t *testing.T) []sourceText {
	t.Helper()
	const root = "../../.."
	var found []sourceText
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		inside := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case e.IsDir() && (inside == "internal/testing" || inside == "integration" || inside == "deploy" || inside == "internal/app/experiment" || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && path != root):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if isHelp(n) {
				return false
			}
			e, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, is := template(e)
			if is && strings.Contains(text, " ") && words.MatchString(tokens.ReplaceAllString(text, "")) && remedies.MatchString(text) && !places.MatchString(text) {
				found = append(found, sourceText{fmt.Sprintf("%s:%d", inside, files.Position(n.Pos()).Line), text, printedAs(text)})
			}
			return !is
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// isHelp says that a node is help of a command, a flag or a field, or an import.
func isHelp(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return true
	case *ast.KeyValueExpr:
		key, is := n.Key.(*ast.Ident)
		return is && map[string]bool{"Long": true, "Short": true, "Use": true, "Example": true, "meaning": true, "fallback": true}[key.Name]
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			return strings.HasSuffix(f.Sel.Name, "Var") || strings.HasSuffix(f.Sel.Name, "VarP")
		case *ast.Ident:
			return strings.HasSuffix(f.Name, "Flag")
		}
	}
	return false
}

// template returns the text of a string literal, or of a sum with one in it.
func template(e ast.Expr) (text string, is bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return template(e.X)
	case *ast.BinaryExpr:
		left, isLeft := template(e.X)
		right, isRight := template(e.Y)
		if e.Op == token.ADD && (isLeft || isRight) {
			if !isLeft {
				left = "%s"
			}
			if !isRight {
				right = "%s"
			}
			return left + right, true
		}
	}
	return "", false
}

// printedAs returns what matches a text with any values in it.
func printedAs(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("(?s)")
	for {
		at := verb.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(spaced(text[:at[0]]))
		if strings.HasSuffix(text[at[0]:at[1]], "%") {
			b.WriteString("%")
		} else {
			b.WriteString(".*?")
		}
		text = text[at[1]:]
	}
	b.WriteString(spaced(text))
	return regexp.MustCompile(b.String())
}

// spaced matches a text, also where it is wrapped.
func spaced(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), " ", `\s+`)
}
