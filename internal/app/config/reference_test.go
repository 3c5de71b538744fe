package config

import (
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline"
)

const page = "../../../docs/configuration.md"

// rewrite is -update of the tests of this package, registered by the other file.
func rewrite() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestReferenceIsInTheDocumentation(t *testing.T) {
	const begin, end = "<!-- reference: made by go test ./internal/app/config -run Reference -update -->\n", "<!-- end of reference -->\n"
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
		t.Errorf("the reference in %s is not that of the code: run go test ./internal/app/config -run Reference -update", page)
	}
}

// all lists the specification with paths.
func all(at string, fields []field) map[string]*field {
	out := map[string]*field{}
	for i := range fields {
		name := join(at, fields[i].name)
		out[name] = &fields[i]
		for n, f := range all(name, fields[i].fields) {
			out[n] = f
		}
	}
	return out
}

func TestReferenceExplainsEveryFieldWell(t *testing.T) {
	for name, f := range all("", specification()) {
		switch {
		case f.meaning == "":
			t.Errorf("%s has no meaning", name)
		case !regexp.MustCompile(`^[a-z_]+$`).MatchString(f.name):
			t.Errorf("%s is not a name", name)
		case (f.kind == object || f.kind == objects) == (len(f.fields) == 0):
			t.Errorf("%s: objects have fields, others none", name)
		case f.to == nil && f.goField == "" && len(f.fields) == 0:
			t.Errorf("%s goes nowhere", name)
		case f.needed && (f.initial != "" || f.absent != ""):
			t.Errorf("%s is needed and has a default", name)
		case f.in != nil && f.example == "" && f.initial == "":
			t.Errorf("%s: its errors name no value that works", name)
		case f.plain && !f.optional:
			t.Errorf("%s: only what may be absent can be switched", name)
		}
	}
}

// Every field of pipeline.Config can be written in a file, and the other way
// round, so that a new one is not forgotten here.
func TestReferenceCoversTheGoConfiguration(t *testing.T) {
	named := map[string]bool{}
	for name, f := range all("", specification()) {
		if f.goField == "" {
			continue
		}
		if named[f.goField] {
			t.Errorf("%s: %s is named twice", name, f.goField)
		}
		named[f.goField] = true
	}
	// Made by the pipeline, from the metrics.
	named["Events.Format.Filters"] = true
	// The lists of events.fields.key and time, after the first.
	named["Events.Format.MoreKeys"], named["Events.Format.MoreTimes"] = true, true
	// Of files without a deployment, which has Time.WindowZone and reads UTF-8.
	named["Events.Format.WallZone"] = true
	named["Events.Format.Separator"], named["Events.Format.Charset"] = true, true
	want := leaves(reflect.TypeFor[pipeline.Config](), "")
	for _, leaf := range want {
		if !named[leaf] {
			t.Errorf("no field of the file sets %s", leaf)
		}
	}
	for leaf := range named {
		if !slices.Contains(want, leaf) && !slices.ContainsFunc(want, func(one string) bool { return strings.HasPrefix(one, leaf+".") }) {
			t.Errorf("there is no %s in pipeline.Config", leaf)
		}
	}
}

// leaves are the paths that docs/configuration.md must have.
func leaves(typ reflect.Type, at string) []string {
	var out []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		below := f.Type
		for below.Kind() == reflect.Slice || below.Kind() == reflect.Pointer && f.Name != "Record" {
			if below.Kind() == reflect.Pointer {
				out = append(out, at+f.Name)
			}
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && strings.Contains(below.PkgPath(), "/tollgate/") && !strings.HasSuffix(below.PkgPath(), "/secret") {
			name := at + f.Name + "."
			if f.Anonymous {
				name = at
			}
			out = append(out, leaves(below, name)...)
			continue
		}
		out = append(out, at+f.Name)
	}
	return out
}

// Defaults of the specification are those of the pipeline: a file that leaves
// everything out and a Go value that does are the same deployment.
func TestReferenceDefaultsAreThePipelines(t *testing.T) {
	f, err := Load("testdata/small.good.yml", Options{}, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	fromFile, err := f.Compile()
	if err != nil {
		t.Fatal(err)
	}
	c := f.Config()
	m := c.Metrics[0]
	c.Deployment, c.Outputs, c.Time = "", pipeline.Outputs{}, pipeline.Time{}
	c.Shards, c.ReleaseShards, c.LedgerSlots = 0, 0, 0
	c.Privacy.Accountant = ""
	c.Metrics = []pipeline.Metric{{
		Name: m.Name, Window: m.Window, MaxKeysPerUser: m.MaxKeysPerUser, MaxEventsPerKey: m.MaxEventsPerKey,
		Target: m.Target,
	}}
	bare, err := pipeline.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fromFile.Config, bare.Config; !reflect.DeepEqual(a, b) {
		t.Errorf("from the file %+v\nfrom Go %+v", a, b)
	}
}

// referenceTable is the table of all fields, in Markdown.
func referenceTable() string {
	var b strings.Builder
	b.WriteString("| field | type | without it | changes | meaning | in Go |\n|---|---|---|---|---|---|\n")
	rows(&b, "", specification())
	return b.String()
}

func rows(b *strings.Builder, at string, fields []field) {
	for i := range fields {
		f := &fields[i]
		name := join(at, f.name)
		inGo := ""
		if f.goField != "" {
			inGo = "`" + f.goField + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", name, f.typeText(), f.otherwise(), f.change, escape(f.meaning), inGo)
		if f.kind == objects {
			name += "[]"
		}
		rows(b, name, f.fields)
	}
}

// escape keeps a text within its cell.
func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeText is the type with its unit and what a value may be.
func (f *field) typeText() string {
	text := string(f.kind)
	if f.single {
		text = "text or " + text
	}
	if f.plain {
		text += ", true or false"
	}
	if len(f.oneOf) > 0 {
		text = "`" + strings.Join(f.oneOf, "`, `") + "`"
	}
	if f.in != nil {
		text += " " + f.in.text(f.kind)
	}
	if f.unit != "" {
		text += " (" + f.unit + ")"
	}
	return text
}

func (f *field) otherwise() string {
	switch {
	case f.needed:
		return "needed"
	case f.initial != "":
		return "`" + f.initial + "`"
	}
	return escape(f.absent)
}

// Every example that an error of a value shows is a value that the field takes.
func TestExamplesAreTaken(t *testing.T) {
	for name, f := range all("", specification()) {
		if f.example == "" {
			continue
		}
		v, err := strconv.ParseFloat(f.example, 64)
		if f.kind == duration {
			d, wrong := ParseDuration(f.example)
			v, err = float64(d), wrong
		}
		numeric := f.kind == integer || f.kind == number || f.kind == duration
		if numeric && (err != nil || f.in != nil && !f.in.contain(v) || f.kind == integer && v != math.Trunc(v)) ||
			len(f.oneOf) > 0 && !slices.Contains(f.oneOf, f.example) {
			t.Errorf("%s: the example %q is refused (%v)", name, f.example, err)
		}
	}
}
