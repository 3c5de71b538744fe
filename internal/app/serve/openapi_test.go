package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tollgate-dp/tollgate/docs"
)

// described is docs/openapi.yaml, as far as responses are compared with it.
type described struct {
	Paths map[string]struct {
		Get struct {
			Parameters []struct {
				Name, In string
				Schema   map[string]any
			}
			Responses map[string]describedResponse
		}
	}
	Components struct {
		Responses map[string]describedResponse
		Schemas   map[string]map[string]any
	}
}

type describedResponse struct {
	Ref     string `yaml:"$ref"`
	Headers map[string]any
	Content map[string]struct{ Schema map[string]any }
}

func readDescription(t testing.TB) (d described) {
	t.Helper()
	if err := yaml.Unmarshal(docs.OpenAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// check compares a value of JSON with a schema, and returns what differs.
func (d *described) check(path string, schema map[string]any, v any) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	for word := range schema {
		if !slices.Contains([]string{"$ref", "type", "description", "properties", "required", "additionalProperties",
			"items", "enum", "format", "minimum", "maximum", "default"}, word) {
			fail("the test does not know the word %s", word)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		target, ok := d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
		if !ok {
			return append(wrong, path+": no schema "+ref)
		}
		return append(wrong, d.check(path, target, v)...)
	}
	kind := map[bool]string{true: "null"}[v == nil]
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				fail("%s is missing", name)
			}
		}
		for name, field := range v {
			known, ok := properties[name].(map[string]any)
			if !ok {
				fail("%s is not described", name)
				continue
			}
			wrong = append(wrong, d.check(path+"."+name, known, field)...)
		}
		if schema["additionalProperties"] != false {
			fail("other properties are not excluded")
		}
	case []any:
		kind = "array"
		items, _ := schema["items"].(map[string]any)
		for i, item := range v {
			wrong = append(wrong, d.check(path+"["+strconv.Itoa(i)+"]", items, item)...)
		}
	case string:
		kind = "string"
		if _, err := time.Parse(time.RFC3339Nano, v); err != nil && schema["format"] == "date-time" {
			fail("%q is no time", v)
		}
		if list, ok := schema["enum"].([]any); ok && !slices.Contains(list, any(v)) {
			fail("%q is none of %v", v, list)
		}
	case float64:
		kind = "number"
		if v == math.Trunc(v) && schema["type"] == "integer" {
			kind = "integer"
		}
		if least, ok := number(schema["minimum"]); ok && v < least {
			fail("%v is below %v", v, least)
		}
		if most, ok := number(schema["maximum"]); ok && v > most {
			fail("%v is above %v", v, most)
		}
	case bool:
		kind = "boolean"
	}
	if types, ok := schema["type"].([]any); ok && slices.Contains(types, any(kind)) || schema["type"] == kind {
		return wrong
	}
	fail("it is of type %s, not %v", kind, schema["type"])
	return wrong
}

func number(v any) (float64, bool) {
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return f, err == nil
}

// Every possible response is in the description, and the description has no other address, status
// or parameter.
func TestAnswersAreAsDescribed(t *testing.T) {
	d := readDescription(t)
	s := serveValues(t, windows(0, 5))
	seen := map[string]bool{}
	check := func(path, query string, fields ...string) {
		t.Helper()
		response := s.get(path+query, fields...)
		code := strconv.Itoa(response.code)
		described, ok := d.Paths[path].Get.Responses[code]
		if !ok {
			t.Errorf("%s%s answers %s, which is not described", path, query, code)
			return
		}
		seen[path+" "+code] = true
		if ref := described.Ref; ref != "" {
			if described, ok = d.Components.Responses[strings.TrimPrefix(ref, "#/components/responses/")]; !ok {
				t.Fatalf("no response %s", ref)
			}
		}
		if _, tagged := described.Headers["ETag"]; tagged != (response.header.Get("ETag") != "") &&
			response.code != http.StatusNotModified {
			t.Errorf("%s%s: an ETag is described: %t; headers %v", path, query, tagged, response.header)
		}
		kind, _, err := mime.ParseMediaType(response.header.Get("Content-Type"))
		content, ok := described.Content[kind]
		if !ok && len(response.body) > 0 {
			t.Errorf("%s%s answers with %q (%v), which is not described for %s", path, query, kind, err, code)
		}
		if kind != "application/json" {
			return
		}
		var v any
		if err := json.Unmarshal([]byte(response.body), &v); err != nil {
			t.Errorf("%s%s: %v", path, query, err)
		}
		for _, wrong := range d.check(path, content.Schema, v) {
			t.Errorf("%s%s: %s", path, query, wrong)
		}
	}
	for path := range d.Paths {
		check(path, "")
		if tag := s.get(path).header.Get("ETag"); tag != "" {
			check(path, "", "If-None-Match", tag)
		}
	}
	after := positionOf(&windows(0, 1)[0]).cursor()
	for _, query := range []string{
		"?metric=views", "?metric=views&key=home", "?metric=views&key=never", "?limit=1", "?limit=1000",
		"?from=2025-03-03T00:01:00Z", "?to=2025-03-03T00:01:00.5Z",
		"?after=" + after, "?limit=0", "?nothing=1", "?metric=never", "?key=home", "?after=x", "?%",
	} {
		check("/v1/releases", query)
	}
	if err := s.server.show(nil, false); err != nil {
		t.Fatal(err)
	}
	check("/v1/releases", "")
	check("/v1/shares", "")
	check("/-/ready", "")

	for path, p := range d.Paths {
		for code := range p.Get.Responses {
			if !seen[path+" "+code] {
				t.Errorf("%s is described with %s, which no request has had", path, code)
			}
		}
	}
	var names []string
	for _, p := range d.Paths["/v1/releases"].Get.Parameters {
		names = append(names, p.Name)
		if p.Name == "limit" && (fmt.Sprint(p.Schema["maximum"], p.Schema["default"]) != fmt.Sprint(maxLimit,
			defaultLimit)) {
			t.Errorf("limit: %v", p.Schema)
		}
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(parameters)); !slices.Equal(names, want) {
		t.Errorf("parameters %v are described, there are %v", names, want)
	}
}
