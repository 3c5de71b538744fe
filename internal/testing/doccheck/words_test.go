package doccheck

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A givenUp word is one that the glossary has another word for, or that does not read at once.
// Spaces in its expressions stand for any white space.
type givenUp struct {
	words   string // regular expression for whole words, in any case
	instead string
	// allowed are expressions of the phrases in which the words mean something else, and are right.
	allowed []string
}

// wordsGivenUp are the words to look for, with what to write instead.
var wordsGivenUp = []givenUp{
	{words: `behind`, instead: "after, for what comes later in time, in a log or in a list", allowed: []string{
		`(lags?|lagging|lagged|falls?|fell|fallen|falling|stays?|remains?) (\S+ ){0,3}behind`, // a reader of a log, a clock
		`(is|are|was|were|be|been|how far) (far |\S+ seconds? )?behind`,
		`behind the clock`,                                    // the same
		`(leaves?|left|leaving) (\S+ ){0,4}behind`,            // what remains
		`behind (an|one|the|a) (interface|constructor|proxy)`, // what stands in front of it
		`behind the clock`,                                    // how far a run lags
		`behind (the|a|its) watermark`,                        // Beam's words for late data
	}},
	{words: `whoever`, instead: "users who, an operator who: the noun"},
	{words: `nobody`, instead: "no user, no process: the noun"},
	{words: `somebody`, instead: "another process, an operator: the noun"},
	{words: `(is|are|was|were) none`, instead: "is not one", allowed: []string{`there (is|are|was|were) none`}},
	{words: `obeyed by|(is|are) obeyed`, instead: "counts, is ignored: what happens"},
	{words: `(is|are|was|were) (the|a|an|another) [\pL-]+['’]s[.;:]`, instead: `the full noun phrase: "returns the deployment's ladders"`},

	{words: `joint(s|ly)?`, instead: "span"},
	{words: `crowds?`, instead: "contributions"},
	{words: `books?|booked|bookkeep(ers?|ing)`, instead: "a shard's accounts; accountant"},
	{words: `stak(es?|ed|ing)`, instead: "reservation"},
	{words: `climb(s|ed|ing)?`, instead: "refine, release along a ladder"},
	{words: `lanes?`, instead: "partition"},
	{words: `(tails?|tailed|tailing) (of )?(the )?control|control('s)? tail|tail of the log`, instead: "control log"},
	{words: `stray (records?|ones?)|strays|strangers?`, instead: "foreign record"},
	{words: `form(s|ed|ing)? (a|the|its|their|these|new) (metric )?windows?|windows? (that )?(is|are|was|were|be|been) formed|formed windows?`, instead: "assemble a window"},
	{words: `pairs? of (a )?\(?metric|pairs? \(metric|\(metric, window\) pairs?`, instead: "metric window"},
	{words: `(a|the|this|its|their|whose|each|every|same|by|with) places?`, instead: "position in a file, origin of a record, cell, index", allowed: []string{
		`in (its|their|the) place`,                         // instead of it
		`(takes?|took|taken|taking) (its|their|the) place`, // the same
	}},
	{words: `(a|the|its|his|their|user's|every|each|no|of) holds?`, instead: "reservation"},

	{words: `klog`, instead: "kafkalog"},
	{words: `wholebundles?`, instead: "localrunner"},
	{words: `internal/(directed|show|input)`, instead: "internal/numbers/rounding, internal/app/terminal, internal/app/eventfile"},
	{words: `(definitions|privacy|design)\.md`, instead: "a page that is in docs/"},
	{words: `fates?`, instead: "outcome of a record"},
}

// compiled are the expressions of a givenUp word.
type compiled struct {
	givenUp
	word    *regexp.Regexp
	allowed []*regexp.Regexp
}

// compile compiles the words to look for: whole words, in any case, over ends of lines.
func compile(list []givenUp) (out []compiled) {
	whole := func(words string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(words, " ", `\s+`) + `)(?:\b|\s|$)`)
	}
	for _, g := range list {
		c := compiled{givenUp: g, word: whole(g.words)}
		for _, phrase := range g.allowed {
			c.allowed = append(c.allowed, whole(phrase))
		}
		out = append(out, c)
	}
	return out
}

// A finding is a given-up word in a text.
type finding struct {
	line    int // of the text, from 0
	found   string
	instead string
}

// find looks for given-up words in a text. A word within an allowed phrase is left alone.
func find(list []compiled, text string) (out []finding) {
	for _, c := range list {
		var fine [][]int
		for _, phrase := range c.allowed {
			fine = append(fine, phrase.FindAllStringIndex(text, -1)...)
		}
		for _, at := range c.word.FindAllStringIndex(text, -1) {
			if slices.ContainsFunc(fine, func(f []int) bool { return f[0] <= at[0] && at[1] <= f[1] }) {
				continue
			}
			out = append(out, finding{strings.Count(text[:at[0]], "\n"), strings.Join(strings.Fields(text[at[0]:at[1]]), " "), c.instead})
		}
	}
	slices.SortStableFunc(out, func(a, b finding) int { return a.line - b.line })
	return out
}

// A passage is a text in a file, from a line on.
type passage struct {
	line int
	text string
}

// passages lists a Go file's comments and, but of tests, its string literals.
func passages(fset *token.FileSet, file *ast.File, test bool) (out []passage) {
	for _, group := range file.Comments {
		var lines []string
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "//go:") && !strings.HasPrefix(c.Text, "//lint:") {
				lines = append(lines, strings.TrimPrefix(c.Text, "//"))
				continue
			}
			lines = append(lines, "")
		}
		out = append(out, passage{fset.Position(group.Pos()).Line, strings.Join(lines, "\n")})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING && !test {
				out = append(out, passage{fset.Position(n.Pos()).Line, n.Value})
			}
		}
		return true
	})
	return out
}

// pages lists README and the pages of docs/.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) < 10 {
		t.Fatalf("found %d pages in docs/ (%v)", len(found), err)
	}
	out := []string{"README.md"}
	for _, page := range found {
		out = append(out, "docs/"+filepath.Base(page))
	}
	return out
}

// Comments, texts and pages keep to the glossary and to plain English.
func TestGivenUpWordsStayAway(t *testing.T) {
	list := compile(wordsGivenUp)
	complain := func(path string, p passage) {
		for _, f := range find(list, p.text) {
			t.Errorf("%s:%d: %q: write %s (docs/glossary.md)", path, p.line+f.line, f.found, f.instead)
		}
	}
	for _, s := range sources(t) {
		for _, p := range passages(s.fset, s.file, s.test) {
			complain(s.path, p)
		}
	}
	for _, page := range pages(t) {
		complain(page, passage{1, read(t, page)})
	}
}

// Most is how many columns a comment may have; a tab counts as four.
const most = 100

// longComments lists the lines of a file that are nothing but a comment, and too wide: by their
// numbers from 1. Directives, and lines that no space breaks, such as addresses, are left alone.
func longComments(text string) (out []int) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		comment := strings.TrimLeft(line, "\t ")
		said, ok := strings.CutPrefix(comment, "// ")
		if !ok || !strings.Contains(strings.TrimSpace(said), " ") {
			continue
		}
		if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > most {
			out = append(out, number)
		}
	}
	return out
}

func TestCommentsHaveAHundredColumns(t *testing.T) {
	for _, s := range sources(t) {
		for _, line := range longComments(read(t, s.path)) {
			t.Errorf("%s:%d: the comment has more than %d columns", s.path, line, most)
		}
	}
}
