package serve

import (
	"bytes"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tollgate-dp/tollgate/docs"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// described is docs/openapi.yaml, as far as responses are compared with it.
type described struct {
	Paths map[string]struct {
		Get struct {
			Parameters []struct {
				Name   string
				Schema struct{ Maximum, Default int }
			}
			Responses map[string]describedResponse
		}
	}
	Components struct{ Responses map[string]describedResponse }

	schemas *jsonschema.Compiler
}

type describedResponse struct {
	Ref     string `yaml:"$ref"`
	Headers map[string]any
	Content map[string]struct{ Schema reference }
}

type reference struct {
	Ref string `yaml:"$ref"`
}

func readDescription(t testing.TB) *described {
	t.Helper()
	d := &described{schemas: jsonschema.NewCompiler()}
	d.schemas.AssertFormat()
	if err := yaml.Unmarshal(docs.OpenAPI, d); err != nil {
		t.Fatal(err)
	}
	text := must.Have(yaml.YAMLToJSON(docs.OpenAPI))
	document := must.Have(jsonschema.UnmarshalJSON(bytes.NewReader(text)))
	must.Succeed(t, d.schemas.AddResource("openapi.json", document))
	count := func(text string) int { return bytes.Count(docs.OpenAPI, []byte(text)) }
	if count("type: object") != count("additionalProperties: false") {
		t.Error("docs/openapi.yaml has an object that allows properties without a description")
	}
	return d
}

// check compares a response in JSON with the schema at a reference.
func (d *described) check(t testing.TB, request string, schema reference, body []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = must.Have(d.schemas.Compile("openapi.json" + schema.Ref)).Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v", request, err)
	}
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
		if kind == "application/json" {
			d.check(t, path+query, content.Schema, []byte(response.body))
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
		if p.Name == "limit" && (p.Schema.Maximum != maxLimit || p.Schema.Default != defaultLimit) {
			t.Errorf("limit: %+v", p.Schema)
		}
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(parameters)); !slices.Equal(names, want) {
		t.Errorf("parameters %v are described, there are %v", names, want)
	}
}
