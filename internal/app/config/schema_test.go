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

	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

const schemaPage = "../../../docs/tollgate.schema.json"

// schema returns the specification as a JSON schema, for editors.
func schema() map[string]any {
	root := objectSchema(settings.Table())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Configuration of Tollgate"
	return root
}

func objectSchema(fields []settings.Field) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range fields {
		properties[fields[i].Name] = fieldSchema(&fields[i])
		if fields[i].Required {
			required = append(required, fields[i].Name)
		}
	}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// fieldSchema describes a value, or a variable if the field accepts one.
func fieldSchema(f *settings.Field) map[string]any {
	var out map[string]any
	variable := map[string]any{"type": "string", "pattern": `^\$\{[A-Za-z_]`}
	switch f.Kind {
	case settings.Object:
		if out = objectSchema(f.Fields); f.Switch {
			out = map[string]any{"oneOf": []any{out, map[string]any{"type": "boolean"}}}
		}
	case settings.Objects:
		out = map[string]any{"type": "array", "minItems": 1, "items": objectSchema(f.Fields)}
	case settings.List:
		out = map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string"}}
		if f.Single {
			out = map[string]any{"anyOf": []any{out, map[string]any{"type": "string"}}}
		}
	case settings.Integer, settings.Number:
		one := map[string]any{"type": "integer"}
		if f.Kind == settings.Number {
			one["type"] = "number"
			variable["pattern"] = `^(\$\{[A-Za-z_]|[0-9.]+[eE][-+]?[0-9]+$)` // to some parsers 1e-6 is a text
		}
		limit(one, f.In)
		out = map[string]any{"anyOf": []any{one, variable}}
	case settings.Boolean:
		out = map[string]any{"anyOf": []any{map[string]any{"type": "boolean"}, variable}}
	case settings.Duration:
		out = map[string]any{"type": "string", "minLength": 1,
			"pattern": `^((\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?|0|.*\$\{.*)$`}
	default:
		out = map[string]any{"type": "string"}
		if values := slices.Concat(f.OneOf, f.LegacyValues); len(f.OneOf) > 0 {
			out = map[string]any{"anyOf": []any{map[string]any{"enum": values}, variable}}
		}
	}
	out["description"] = f.Meaning
	if first := f.Meaning[0]; first >= 'a' && first <= 'z' { // not the sign ε
		out["description"] = strings.ToUpper(f.Meaning[:1]) + f.Meaning[1:]
	}
	if f.Default != "" {
		out["description"] = out["description"].(string) + ". Default: " + f.Default
	}
	return out
}

func limit(to map[string]any, in *settings.Range) {
	if in == nil {
		return
	}
	low, high := "minimum", "maximum"
	if in.LowExcluded {
		low = "exclusiveMinimum"
	}
	if in.HighExcluded {
		high = "exclusiveMaximum"
	}
	if !math.IsInf(in.Low, -1) {
		to[low] = in.Low
	}
	if !math.IsInf(in.High, 1) {
		to[high] = in.High
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

// The schema for editors is generated from the code (-update). It accepts all valid files of the
// tests and the examples. It refuses misspelt fields, wrong types, invalid durations and values out
// of range.
func TestReferenceAsASchemaForEditors(t *testing.T) {
	want := schemaText(t)
	if rewrite() {
		if err := os.WriteFile(schemaPage, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(schemaPage); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s is not that of the code (%v): run go test ./internal/app/config -run Reference -update",
			schemaPage, err)
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
	for _, name := range []string{"bound_zero", "enum", "unknown_field", "empty_metrics", "duration_nonsense",
		"duration_without_unit", "time_negative"} {
		if err := check(filepath.Join("testdata", name+".bad.yml")); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
