package doccheck

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// foreign lists names that pages use and that only look like ours, with their owners.
var foreign = map[string]string{
	"Broker.RetriableRequest": "franz-go",
	"CloseIdleConnections":    "kafka-go",
	"CreateTime":              "Kafka",
	"LogAppendTime":           "Kafka",
	"MetadataTTL":             "kafka-go",
	"OnBrokerE2E":             "franz-go",
	"OnBrokerWrite":           "franz-go",
	"PartitionLeader":         "franz-go",
	"Transport":               "kafka-go",
	"endsWith":                "expr",
	"startsWith":              "expr",
	"tollgate":                "the program, where the reader has built it",
}

// Every path, package and identifier that a page names in back quotes or in a block of code, and
// that looks like one of ours, is in the tree. A changelog speaks of what is gone: only what is not
// released yet is looked at, and there not the old name in "`old` is `new`".
func TestPagesNameWhatIsThere(t *testing.T) {
	d := declarations(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		rel, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		rel = filepath.ToSlash(rel)
		body := read(t, rel)
		if rel == "docs/changelog.md" {
			body = unreleased(body)
		}
		wrong, n := wrongNames(d, rel, body)
		looked += n
		for _, w := range wrong {
			t.Error(w)
		}
	}
	if looked < 500 {
		t.Fatalf("found only %d names on all pages", looked)
	}
}

// unreleased is the part of a changelog up to its second section, without old names.
func unreleased(body string) string {
	if sections := regexp.MustCompile(`(?m)^## `).FindAllStringIndex(body, 2); len(sections) == 2 {
		body = body[:sections[1][0]]
	}
	return regexp.MustCompile("`[^`\n]+` is `").ReplaceAllString(body, "`")
}

func TestWrongNamesOnAPageAreFound(t *testing.T) {
	const page = "# Made up\n" +
		"`pipeline/deployment`, `./state/...`, `state/`, `docs/rules.md` and `.ci/run kafka` are there,\n" +
		"as are `pipeline.Config`, `*units.RangeError`, `RunOptions.Drain`, `Events.Format.MaxRecordBytes`,\n" +
		"`state/filter.TestAMillionAdversarialLossesStayWithinTheTheorem` and `ErrStopped`.\n" +
		"`internal/klog` and\n`go test ./pipeline/nowhere/...` are gone.\n" +
		"`klog.Want` is; `pipeline.Nothing` is; `RunOptions.Nothing` is; `pipeline.RunOptions.Nothing` is.\n" +
		"`state/compose/accountants.go` is there, `nothing.go` and `spend/admit.go` are not.\n" +
		"In `transforms/spend/admit.go`, `admission.admit` is; in `transforms/spend/admit.go`, `admission.nothing` is not.\n" +
		"`units.TestNothing`, `TestOfNothing`, `ErrOfNothing` and `nothingAtAll` are not.\n" +
		"`time.slack`, `cleanup.policy`, `apache/kafka:4.1.1`, `HEADER`, `user.id` and `kgo.Client` are not ours.\n" +
		"```go\n" +
		"form, err := plain.New(plain.Nothing{})\n" +
		"form.Whatever()\n" +
		"```\n" +
		"```sh\n./tollgate demo; deploy/nowhere.sh ~/x/y\n```\n" +
		"`go test -run 'AreFound|ByNobody' -bench Charge/x ./state/units` and `-bench ByNobody` choose nothing.\n" +
		"`form.Whatever` is of the sample above, a span may\nbreak its line: `go vet\n./nothing`.\n"
	want := []string{
		"made-up.md:5: there is no internal/klog",
		"made-up.md:6: there is no pipeline/nowhere",
		"made-up.md:7: no package is called klog (klog.Want)",
		"made-up.md:7: package pipeline declares no Nothing",
		"made-up.md:7: RunOptions has no Nothing (RunOptions.Nothing)",
		"made-up.md:7: RunOptions has no Nothing (pipeline.RunOptions.Nothing)",
		"made-up.md:8: there is no state/compose/nothing.go",
		"made-up.md:8: there is no spend/admit.go",
		"made-up.md:9: transforms/spend/admit.go declares no admission.nothing",
		"made-up.md:10: package units declares no TestNothing",
		"made-up.md:10: nothing is called TestOfNothing",
		"made-up.md:10: nothing is called ErrOfNothing",
		"made-up.md:10: nothing is called nothingAtAll",
		"made-up.md:13: package plain declares no Nothing",
		"made-up.md:17: there is no deploy/nowhere.sh",
		"made-up.md:19: nothing is chosen by -run ByNobody",
		"made-up.md:19: nothing is chosen by -bench ByNobody",
		"made-up.md:22: there is no nothing",
	}
	got, _ := wrongNames(declarations(t), "made-up.md", page)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestABackQuoteWithoutItsPartnerIsFound(t *testing.T) {
	got, _ := wrongNames(declarations(t), "p.md", "| `pipeline |\n| `pipeline` |\n")
	if want := []string{"p.md:1: a back quote without its partner"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOldNamesOfAChangelogAreNotLookedAt(t *testing.T) {
	const log = "## Unreleased\n`plain.Form` is `plain.Transforms`; `units.Nothing` is gone.\n## v1\n`plain.Form` is new.\n"
	got, _ := wrongNames(declarations(t), "log.md", unreleased(log))
	if want := []string{"log.md:2: package units declares no Nothing"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

var (
	fence  = regexp.MustCompile("(?ms)^[ ]*```[a-z]*\n(.*?)^[ ]*```")
	quoted = regexp.MustCompile("`([^`]+)`")
	// A quotation that goes on into another paragraph, item or row has lost its end.
	endless = regexp.MustCompile(`\n\s*(?:\n|\||#|[-*] )`)
	// Of a sample: the variables that it sets, and p.Name.
	variables = regexp.MustCompile(`(?m)^\s*(?:if |for )?(\w+(?:, \w+)*) :?= `)
	selectors = regexp.MustCompile(`(?:^|[^\w."])([a-z][a-z0-9]*\.[A-Z]\w*)`)

	pathLike  = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)*$`)
	qualified = regexp.MustCompile(`^([a-z][a-z0-9]*)((?:\.[A-Z]\w*)+)$`)
	member    = regexp.MustCompile(`^[A-Z]\w*(?:\.[A-Z]\w*)+$`)
	alone     = regexp.MustCompile(`^(?:[A-Z]\w*[a-z]|[a-z]+[A-Z])\w*$`)
	inFile    = regexp.MustCompile(`^\w+(\.\w+)?$`)

	chosen   = regexp.MustCompile(`-(run|bench) +('[^']*'|\S+)`)
	nonSpace = regexp.MustCompile(`\S+`)
)

// page is what is known while a page is read.
type page struct {
	*declared
	dir       string         // of the path that was named last
	variables []string       // of its samples
	looked    int            // how many names looked like ours
	found     map[int]string // offset → what is wrong there
}

// wrongNames lists the names on a page that look like ours and are not in the tree, each with page
// and line, in their order; and says how many looked like ours.
func wrongNames(d *declared, name, body string) (wrong []string, looked int) {
	p := &page{declared: d, found: map[int]string{}}
	prose := []byte(body)
	samples := fence.FindAllStringSubmatchIndex(body, -1)
	for _, s := range samples {
		for i := s[0]; i < s[1]; i++ {
			if prose[i] != '\n' {
				prose[i] = ' '
			}
		}
		for _, m := range variables.FindAllStringSubmatch(body[s[2]:s[3]], -1) {
			p.variables = append(p.variables, strings.Split(m[1], ", ")...)
		}
	}
	for _, s := range samples {
		p.sample(s[2], body[s[2]:s[3]])
	}
	p.prose(string(prose))
	for at := range body {
		if p.found[at] != "" {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(body[:at], "\n"), p.found[at]))
		}
	}
	return wrong, p.looked
}

// sample looks at a block of code at an offset: at paths, and at what it uses of our packages.
func (p *page) sample(at int, text string) {
	for _, m := range selectors.FindAllStringSubmatchIndex(text, -1) {
		if name := text[m[2]:m[3]]; p.packages[strings.Split(name, ".")[0]] != nil {
			p.found[at+m[2]] = p.identifier(name)
		}
	}
	p.words(at, text, func(word string) string {
		if strings.Contains(word, "/") {
			return p.path(word)
		}
		return ""
	})
}

// prose looks at the quotations of a page. One that follows a file after a comma is what the file
// declares.
func (p *page) prose(body string) {
	file, end := "", 0 // the file that was named last, and where
	for _, m := range quoted.FindAllStringSubmatchIndex(body, -1) {
		text := body[m[2]:m[3]]
		if endless.MatchString(text) {
			p.found[m[0]] = "a back quote without its partner"
			return
		}
		if file != "" && body[end:m[0]] == ", " && inFile.MatchString(text) && path.Ext(text) != ".go" {
			if p.looked++; !p.tops[file][text] {
				p.found[m[2]] = file + " declares no " + text
			}
			continue
		}
		file, end = "", m[1]
		if p.tops[text] != nil && path.Ext(text) == ".go" {
			file = text
		}
		p.words(m[2], text, p.word)
	}
}

// words looks at the words of a text at an offset, and at the tests and benchmarks that commands
// in it choose.
func (p *page) words(at int, text string, look func(string) string) {
	skip := map[int]bool{}
	for _, m := range chosen.FindAllStringSubmatchIndex(text, -1) {
		skip[m[4]] = true
		kinds := []string{"Test", "Fuzz", "Example"}
		if text[m[2]:m[3]] == "bench" {
			kinds = []string{"Benchmark"}
		}
		first, _, _ := strings.Cut(strings.Trim(text[m[4]:m[5]], "'"), "/")
		for _, name := range strings.Split(first, "|") {
			if p.looked++; name != "-" && name != "XXX" && !p.matches(kinds, name) {
				p.found[at+m[4]] = fmt.Sprintf("nothing is chosen by -%s %s", text[m[2]:m[3]], name)
			}
		}
	}
	for _, m := range nonSpace.FindAllStringIndex(text, -1) {
		if !skip[m[0]] {
			p.found[at+m[0]] += look(text[m[0]:m[1]])
		}
	}
}

// matches says whether a function of a kind that go test knows has a name that a pattern matches.
func (p *page) matches(kinds []string, pattern string) bool {
	expression, err := regexp.Compile(pattern)
	for name := range p.names {
		of := func(kind string) bool { return strings.HasPrefix(name, kind) }
		if err == nil && slices.ContainsFunc(kinds, of) && expression.MatchString(name) {
			return true
		}
	}
	return false
}

// word says what is wrong with a word of a quotation, or nothing.
func (p *page) word(text string) string {
	text = strings.TrimPrefix(strings.Trim(text, `,;:"'()`), "*")
	if call := strings.IndexAny(text, "({["); call > 0 {
		text = text[:call]
	}
	if strings.Contains(text, "/") || strings.HasSuffix(text, ".go") {
		return p.path(text)
	}
	return p.identifier(text)
}

// path says what is wrong with a path. One that does not begin with a directory or file of ours is
// not ours, unless it is one of Go: a file alone is looked for where the last path led.
func (p *page) path(text string) string {
	text, here := strings.CutPrefix(text, "./")
	text = strings.TrimRight(text, "….,/")
	if text == "" || foreign[text] != "" || !pathLike.MatchString(text) {
		return ""
	}
	first, _, deep := strings.Cut(text, "/")
	_, err := os.Stat(filepath.Join(root, first))
	switch file := path.Ext(text) == ".go"; {
	case file && !deep:
		text = path.Join(p.dir, text)
	case !here && !file && err != nil:
		return ""
	}
	p.looked++
	if i := strings.LastIndex(text, ".") + 1; i > 0 && unicode.IsUpper(rune(text[i])) && p.tops[text[:i-1]] != nil {
		if dir, name := text[:i-1], text[i:]; !p.tops[dir][name] {
			return dir + " declares no " + name
		}
		return ""
	}
	info, err := os.Stat(filepath.Join(root, text))
	if err != nil {
		return "there is no " + text
	}
	if p.dir = text; !info.IsDir() {
		p.dir = path.Dir(text)
	}
	return ""
}

// identifier says what is wrong with package.Name, Type.Member or a name alone.
func (p *page) identifier(text string) string {
	if m := qualified.FindStringSubmatch(text); m != nil && !slices.Contains(p.variables, m[1]) {
		p.looked++
		chain := strings.Split(m[2][1:], ".")
		dirs := p.packages[m[1]]
		switch {
		case dirs == nil && p.imported[m[1]]:
			return ""
		case dirs == nil:
			return fmt.Sprintf("no package is called %s (%s)", m[1], text)
		case !slices.ContainsFunc(dirs, func(dir string) bool { return p.tops[dir][chain[0]] }):
			return fmt.Sprintf("package %s declares no %s", m[1], chain[0])
		}
		return p.chain(chain, text)
	}
	switch {
	case foreign[text] != "":
		return ""
	case member.MatchString(text):
		p.looked++
		return p.chain(strings.Split(text, "."), text)
	case alone.MatchString(text):
		if p.looked++; !p.names[text] {
			return "nothing is called " + text
		}
	}
	return ""
}

// chain says what is wrong with members of a type, or of a field's type.
func (p *page) chain(names []string, text string) string {
	for n := 2; n <= len(names); n++ {
		if !p.reaches(p.leads(names[0]), names[1:n]) {
			return fmt.Sprintf("%s has no %s (%s)", strings.Join(names[:n-1], "."), names[n-1], text)
		}
	}
	return ""
}
