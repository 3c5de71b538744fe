package commands

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// shownLine is a command line of tollgate that a text shows.
type shownLine struct {
	where, line string
	whole       bool // it can be run unchanged: a sentence may name a command without what it needs
}

var (
	fenced     = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	quoted     = regexp.MustCompile("`([^`]+)`")
	startsOurs = regexp.MustCompile(`(?:(?:^|[^\w./-])(?:\./tollgate|/tollgate|/usr/local/bin/tollgate|go run ` +
		`(?:-tags \w+ )?\./cmd/runner)|(?:^|: |\$ |["'(])tollgate)((?: +[^ ]+)*)$`)
	remark    = regexp.MustCompile(`\s+#.*$`)
	shownWord = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"']+`)
)

// shownIn returns the command line of tollgate in a text that shows code.
func shownIn(where, code string, whole bool) (found []shownLine) {
	for _, line := range strings.Split(strings.ReplaceAll(code, "\\\n", " "), "\n") {
		line = strings.TrimSpace(remark.ReplaceAllString(line, ""))
		for _, part := range regexp.MustCompile(`&&|\|\||;|\|`).Split(line, -1) {
			part, _, _ = strings.Cut(part, " > ")
			if strings.HasPrefix(part, "go build ") {
				continue // its -o names the program
			}
			if m := startsOurs.FindStringSubmatch(strings.TrimSpace(part)); m != nil && strings.TrimSpace(m[1]) != "" {
				found = append(found, shownLine{where, strings.TrimSpace(m[1]), whole})
			}
		}
	}
	return found
}

// shownLines returns every command line of tollgate that a page, an example or the help shows.
func shownLines(t *testing.T) (found []shownLine) {
	t.Helper()
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != root:
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		inside := strings.TrimPrefix(path, root+string(filepath.Separator))
		read := func() string { return contentsOf(t, path) }
		switch filepath.Ext(path) {
		case ".md":
			text := read()
			if filepath.Base(path) == "changelog.md" {
				text, _, _ = strings.Cut(text, "\n## 0") // released versions had these
			}
			for _, block := range fenced.FindAllStringSubmatch(text, -1) {
				found = append(found, shownIn(inside, block[1], true)...)
			}
			for _, span := range quoted.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
				found = append(found, shownIn(inside, strings.ReplaceAll(span[1], "\n", " "), strings.Contains(span[1],
					"--config"))...)
			}
		case ".yaml", ".service", ".sh":
			for _, line := range strings.Split(read(), "\n") {
				if comment := strings.TrimLeft(line, "# "); strings.HasPrefix(strings.TrimSpace(line), "#   ") {
					found = append(found, shownIn(inside, comment, true)...)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	commands(func(cmd *cobra.Command, args []string) {
		where := "help of " + strings.Join(args, " ")
		found = append(found, shownIn(where, cmd.Example, true)...)
		for _, span := range regexp.MustCompile(`"(tollgate [^"]+)"`).FindAllStringSubmatch(strings.ReplaceAll(cmd.Long,
			"\n", " "), -1) {
			found = append(found, shownIn(where, span[1], false)...)
		}
	})
	return found
}

// Every command line of tollgate that a page or the help shows has a command and flags that there
// are, and values that they take. Where it is shown to be run, it has the flags that it needs.
func TestShownCommandLinesAreOfThisProgram(t *testing.T) {
	t.Parallel()
	lines := shownLines(t)
	for _, shown := range lines {
		if problem := shown.problem(); problem != "" {
			t.Errorf("%s: tollgate %s: %s", shown.where, shown.line, problem)
		}
	}
	if len(lines) < 150 {
		t.Errorf("%d command lines were found", len(lines))
	}
	t.Logf("%d command lines", len(lines))
}

// placeholder is a word that the reader replaces by a value.
var placeholder = regexp.MustCompile(`^(\[?[A-Z][A-Z_]*(\.\.\.|…)?\]?|…|<.*>|\$\w+|.*…)$`)

// problem says what is wrong with a line; "" for nothing.
func (l shownLine) problem() string {
	words := shownWord.FindAllString(l.line, -1)
	a := &command.App{Stdout: io.Discard, Stderr: io.Discard, Getenv: os.Getenv}
	root := rootCommand(a)
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	given := map[string]bool{}
	for i := 0; i < len(rest); i++ {
		name, value, has := strings.Cut(strings.TrimRight(rest[i], ",.:)"), "=")
		var flag *pflag.Flag
		switch {
		case strings.HasPrefix(name, "--"):
			flag = cmd.Flag(strings.TrimPrefix(name, "--"))
		case strings.HasPrefix(name, "-") && len(name) == 2:
			flag = cmd.Flags().ShorthandLookup(name[1:])
		case cmd.HasParent() && cmd.Args == nil || placeholder.MatchString(name) || cmd.Args(cmd, []string{name}) ==
			nil:
			continue
		default:
			return "it takes no argument " + name
		}
		if flag == nil {
			return "there is no flag " + name
		}
		given[flag.Name] = true
		if !has && flag.NoOptDefVal == "" {
			if i++; i == len(rest) {
				if l.whole {
					return name + " has no value"
				}
				break
			}
			value = strings.Trim(rest[i], `"'`)
		}
		if value == "" || placeholder.MatchString(value) {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return name + " " + value + ": " + err.Error()
		}
	}
	if l.whole {
		missing := ""
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if len(flag.Annotations[cobra.BashCompOneRequiredFlag]) > 0 && !given[flag.Name] {
				missing = "it needs --" + flag.Name
			}
		})
		return missing
	}
	return ""
}
