package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// A format is an entry of event's table, which stands with the decoders; all other code asks the
// entry for a property. These have a reason to name one.
var namesFormat = map[string]string{
	"internal/app/eventfile/container.go":   "reads the one kind of container",
	"internal/app/commands/replay_avro.go":  "how a container's records are written to a topic",
	"internal/app/demo/source_generated.go": "writes events itself",
}

func TestFormatsAreNamedInTheirTableOnly(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		// schemas writes counts, in encodings of its own.
		if s.test || s.dir == "schemas/event" || s.dir == "schemas" || strings.HasPrefix(s.dir, "internal/formats/") || strings.HasPrefix(s.dir, "internal/testing/") {
			continue
		}
		for _, name := range formatsNamed(s.file) {
			if found[s.path] = true; namesFormat[s.path] == "" {
				t.Errorf("%s names the format %s: ask its entry for a property, see event.Encoding", s.path, name)
			}
		}
	}
	for path := range namesFormat {
		if !found[path] {
			t.Errorf("%s names no format any more", path)
		}
	}
	if len(namesFormat) > 3 {
		t.Errorf("%d files name a format: most of them have a property to ask for", len(namesFormat))
	}
}

func TestNamesOfFormatsAreRecognised(t *testing.T) {
	const text = `package p
import (ev "github.com/tollgate-dp/tollgate/schemas/event"; "encoding/csv"; "github.com/tollgate-dp/tollgate/internal/formats/avro")
const CountsAvro CountsFormat = "avro"
var endings = []string{".csv", ".txt"}
func f(format string) {
	_ = ev.JSONL
	_ = avro.Parse
	if format == "csv" || format == "json" { panic("tsv, for example") }
	help("  tollgate demo --input visits.csv", "Avro's unit", "outputs: avro counts, avro_object", "NDJSON")
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"csv", "jsonl", "csv", "tsv", "avro"}
	if got := formatsNamed(file); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// formatsNamed lists the formats that a file names: by a constant of event, as a word of a text, or
// by the ending of its files. The encodings of counts are those of another table, though one has
// the name of a format, and names of files in examples name none.
func formatsNamed(file *ast.File) (found []string) {
	local := ""
	for _, i := range file.Imports {
		if i.Path.Value == `"github.com/tollgate-dp/tollgate/schemas/event"` {
			if local = "event"; i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	word := regexp.MustCompile(`(?i)(?:^|[^.\w])(` + strings.Join(event.Names(event.Encoding.Known), "|") + `)(?:$|\W)`)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.ValueSpec:
			of, ok := n.Type.(*ast.Ident)
			return !ok || of.Name != "CountsFormat"
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && local != "" && x.Name == local && slices.Contains(event.Names(event.Encoding.Known), strings.ToLower(n.Sel.Name)) {
				found = append(found, strings.ToLower(n.Sel.Name))
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				break
			}
			if e := event.EncodingOfFile(text); slices.Contains(e.Endings, text) {
				found = append(found, e.Name)
			} else if m := word.FindStringSubmatch(text); m != nil && !strings.Contains(text, "counts") {
				found = append(found, strings.ToLower(m[1]))
			}
		}
		return true
	})
	return found
}

func TestEveryFormatIsDocumented(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `events.format` .*$").FindString(read(t, "docs/configuration.md"))
	formats := read(t, "docs/events.md")
	for _, e := range event.Encodings() {
		if !strings.Contains(row, "`"+e.Name+"`: "+e.Record) {
			t.Errorf("docs/configuration.md does not list the format %s", e.Name)
		}
		if !strings.Contains(formats, "\n| `"+e.Name+"` | ") {
			t.Errorf("docs/events.md does not say what a record of %s is", e.Name)
		}
	}
}
