package config

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaPage = "../../../docs/tollgate.schema.json"

// schema returns the specification as a JSON schema, for editors.
func schema() map[string]any {
	root := objectSchema(specification())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Configuration of Tollgate"
	return root
}

func objectSchema(fields []field) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range fields {
		properties[fields[i].name] = fieldSchema(&fields[i])
		if fields[i].needed {
			required = append(required, fields[i].name)
		}
	}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// fieldSchema describes a value; where a variable may stand for it, too.
func fieldSchema(f *field) map[string]any {
	var out map[string]any
	variable := map[string]any{"type": "string", "pattern": `^\$\{[A-Za-z_]`}
	switch f.kind {
	case object:
		if out = objectSchema(f.fields); f.plain {
			out = map[string]any{"oneOf": []any{out, map[string]any{"type": "boolean"}}}
		}
	case objects:
		out = map[string]any{"type": "array", "minItems": 1, "items": objectSchema(f.fields)}
	case list:
		out = map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string"}}
		if f.single {
			out = map[string]any{"anyOf": []any{out, map[string]any{"type": "string"}}}
		}
	case integer, number:
		one := map[string]any{"type": "integer"}
		if f.kind == number {
			one["type"] = "number"
			variable["pattern"] = `^(\$\{[A-Za-z_]|[0-9.]+[eE][-+]?[0-9]+$)` // to some parsers 1e-6 is a text
		}
		limit(one, f.in)
		out = map[string]any{"anyOf": []any{one, variable}}
	case boolean:
		out = map[string]any{"anyOf": []any{map[string]any{"type": "boolean"}, variable}}
	case duration:
		out = map[string]any{"type": "string", "minLength": 1, "pattern": `^((\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?|0|.*\$\{.*)$`}
	default:
		out = map[string]any{"type": "string"}
		if len(f.oneOf) > 0 {
			out = map[string]any{"anyOf": []any{map[string]any{"enum": slices.Concat(f.oneOf, f.begunWith)}, variable}}
		}
	}
	out["description"] = f.meaning
	if first := f.meaning[0]; first >= 'a' && first <= 'z' { // not the sign ε
		out["description"] = strings.ToUpper(f.meaning[:1]) + f.meaning[1:]
	}
	if f.initial != "" {
		out["description"] = out["description"].(string) + ". Default: " + f.initial
	}
	return out
}

func limit(to map[string]any, in *limits) {
	if in == nil {
		return
	}
	low, high := "minimum", "maximum"
	if in.open {
		low = "exclusiveMinimum"
	}
	if in.below {
		high = "exclusiveMaximum"
	}
	if !math.IsInf(in.low, -1) {
		to[low] = in.low
	}
	if !math.IsInf(in.high, 1) {
		to[high] = in.high
	}
}

func schemaText(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(schema()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The schema for editors is that of the code (-update), and takes every file that is taken: the
// good ones of the tests, and the examples. Of bad ones it refuses misspelt fields, other types,
// durations that are not one and values that are out of range.
func TestReferenceAsASchemaForEditors(t *testing.T) {
	want := schemaText(t)
	if rewrite() {
		if err := os.WriteFile(schemaPage, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(schemaPage); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s is not that of the code (%v): run go test ./internal/app/config -run Reference -update", schemaPage, err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("tollgate.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("tollgate.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(path string) error {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.YAMLToJSON(bytes.TrimPrefix(body, byteOrderMark))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return compiled.Validate(value)
	}
	good, err := filepath.Glob("testdata/*.good.yml")
	if err != nil || len(good) == 0 {
		t.Fatal(err)
	}
	for _, path := range append(good, "../../../docs/example.yaml", "minimal.yaml") {
		if err := check(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, name := range []string{"bound_zero", "enum", "unknown_field", "empty_metrics", "duration_nonsense", "duration_without_unit", "time_negative"} {
		if err := check(filepath.Join("testdata", name+".bad.yml")); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
