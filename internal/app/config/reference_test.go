package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

const page = "../../../docs/configuration.md"

// rewrite reports whether the flag -update is set; package golden registers it.
func rewrite() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestReferenceIsInTheDocumentation(t *testing.T) {
	const begin, end = "<!-- reference: made by go test ./internal/app/config -run Reference -update -->\n",
		"<!-- end of reference -->\n"
	body, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(body), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for the reference: %s…%s", page, begin, end)
	}
	want := "\n" + referenceTable() + "\n"
	if rewrite() {
		if err := os.WriteFile(page, []byte(head+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the reference in %s is not that of the code: run go test ./internal/app/config -run Reference "+
			"-update", page)
	}
}

// all returns the specification of all fields, by path.
func all(path string, fields []settings.Field) map[string]*settings.Field {
	out := map[string]*settings.Field{}
	for i := range fields {
		name := join(path, fields[i].Name)
		out[name] = &fields[i]
		for n, f := range all(name, fields[i].Fields) {
			out[n] = f
		}
	}
	return out
}

func TestReferenceExplainsEveryFieldWell(t *testing.T) {
	for name, f := range all("", settings.Table()) {
		switch {
		case f.Meaning == "":
			t.Errorf("%s has no meaning", name)
		case !regexp.MustCompile(`^[a-z_]+$`).MatchString(f.Name):
			t.Errorf("%s is not a name", name)
		case (f.Kind == settings.Object || f.Kind == settings.Objects) == (len(f.Fields) == 0):
			t.Errorf("%s: objects have fields, others none", name)
		case f.Required && (f.Default != "" || f.Absent != ""):
			t.Errorf("%s is needed and has a default", name)
		case f.In != nil && f.Example == "" && f.Default == "":
			t.Errorf("%s: its errors name no value that works", name)
		case f.Switch && !f.Optional:
			t.Errorf("%s: only an optional object can be switched", name)
		}
	}
}

// Every field of pipeline.Config can be set in a file, and the other way round.
func TestReferenceCoversTheGoConfiguration(t *testing.T) {
	named := map[string]bool{}
	for name, f := range all("", settings.Table()) {
		if f.Path == "" {
			continue
		}
		if named[f.Path] {
			t.Errorf("%s: %s is named twice", name, f.Path)
		}
		named[f.Path] = true
	}
	// The pipeline computes them from the metrics.
	named["Events.Format.Filters"] = true
	// The lists of events.fields.key and time, after the first.
	named["Events.Format.MoreKeys"], named["Events.Format.MoreTimes"] = true, true
	// Only for files without a deployment: a deployment has Time.WindowZone and reads UTF-8.
	named["Events.Format.WallZone"] = true
	named["Events.Format.Separator"], named["Events.Format.Charset"] = true, true
	want := leaves(reflect.TypeFor[pipeline.Config](), "")
	for _, leaf := range want {
		if !named[leaf] {
			t.Errorf("no field of the file sets %s", leaf)
		}
	}
	for leaf := range named {
		if !slices.Contains(want, leaf) && !slices.ContainsFunc(want, func(one string) bool {
			return strings.HasPrefix(one, leaf+".")
		}) {
			t.Errorf("there is no %s in pipeline.Config", leaf)
		}
	}
}

// leaves returns the paths that docs/configuration.md must have.
func leaves(typ reflect.Type, path string) []string {
	var out []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		below := f.Type
		for below.Kind() == reflect.Slice || below.Kind() == reflect.Pointer && f.Name != "Record" {
			if below.Kind() == reflect.Pointer {
				out = append(out, path+f.Name)
			}
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && strings.Contains(below.PkgPath(), "/tollgate/") &&
			!strings.HasSuffix(below.PkgPath(), "/secret") {
			name := path + f.Name + "."
			if f.Anonymous {
				name = path
			}
			out = append(out, leaves(below, name)...)
			continue
		}
		out = append(out, path+f.Name)
	}
	return out
}

// referenceTable returns the table of all fields in Markdown.
func referenceTable() string {
	var b strings.Builder
	b.WriteString("| field | type | without it | changes | meaning | in Go |\n|---|---|---|---|---|---|\n")
	rows(&b, "", settings.Table())
	return b.String()
}

func rows(b *strings.Builder, path string, fields []settings.Field) {
	for i := range fields {
		f := &fields[i]
		name := join(path, f.Name)
		inGo := ""
		if f.Path != "" {
			inGo = "`" + f.Path + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", name, typeText(f), otherwise(f), f.Change,
			escape(f.Meaning), inGo)
		if f.Kind == settings.Objects {
			name += "[]"
		}
		rows(b, name, f.Fields)
	}
}

// escape escapes a text for a cell of the table.
func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeText returns the type of a field with its values, range and unit.
func typeText(f *settings.Field) string {
	text := string(f.Kind)
	if f.Single {
		text = "string or " + text
	}
	if f.Switch {
		text += ", true or false"
	}
	if len(f.OneOf) > 0 {
		text = "`" + strings.Join(f.OneOf, "`, `") + "`"
		if f.Kind == settings.List {
			text = "list of " + text
		}
	}
	if f.In != nil {
		text += " " + f.In.Text(f.Kind)
	}
	if f.Unit != "" {
		text += " (" + f.Unit + ")"
	}
	return text
}

func otherwise(f *settings.Field) string {
	switch {
	case f.Required:
		return "needed"
	case f.Default != "":
		return "`" + f.Default + "`"
	}
	return escape(f.Absent)
}

// Every example that an error shows, and every default, is a valid value.
func TestReferenceShowsValuesThatWork(t *testing.T) {
	types := map[settings.Kind]reflect.Type{
		settings.Integer: reflect.TypeFor[int](), settings.Number: reflect.TypeFor[float64](),
		settings.Duration: reflect.TypeFor[time.Duration](),
		settings.Boolean:  reflect.TypeFor[bool](), settings.Text: reflect.TypeFor[string](),
	}
	for name, f := range all("", settings.Table()) {
		for _, text := range []string{f.Example, f.Default} {
			if types[f.Kind] == nil || text == "" {
				continue
			}
			if reason := f.Set(reflect.New(types[f.Kind]).Elem(), text); reason != "" {
				t.Errorf("%s: %s", name, reason)
			}
		}
	}
}
