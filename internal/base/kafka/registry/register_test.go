package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const visit = `{"type":"record","name":"R","fields":[]}`

func TestSchemasAreRegisteredOnlyWhereTheyAreNotYet(t *testing.T) {
	var asked []string
	registered := false
	s, _ := fake(t, false, func(w http.ResponseWriter, r *http.Request, n int64) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		var body struct{ Schema, SchemaType string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Schema != visit || body.SchemaType != "" {
			t.Errorf("request with %+v, %v", body, err)
		}
		switch {
		case n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/base/subjects/visits-value/versions":
			registered = true
			fmt.Fprint(w, `{"id":42}`)
		case registered:
			fmt.Fprintf(w, `{"subject":"visits-value","version":1,"id":42,"schema":%q}`, visit)
		default:
			missing(w, 40401, "Subject not found.")
		}
	})
	c := client(t, Config{URL: s.URL + "/base"})
	for range 2 {
		if id, err := c.Register(t.Context(), "visits-value", visit); err != nil || id != 42 {
			t.Fatal(id, err)
		}
	}
	const look, add = "POST /base/subjects/visits-value", "POST /base/subjects/visits-value/versions"
	if got := strings.Join(asked, ", "); got != strings.Join([]string{look, look, add, look}, ", ") {
		t.Errorf("asked %s", got)
	}
}

func TestRefusalsOfASchemaSayWhy(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		is     error
		says   string
	}{
		"incompatible": {409,
			`{"error_code":409,"message":"Schema being registered is incompatible: ` +
				`READER_FIELD_MISSING_DEFAULT_VALUE"}`,
			ErrIncompatible, "MISSING_DEFAULT"},
		"long reason": {409, `{"error_code":409,"message":"` + strings.Repeat("x", 5000) + `"}`, ErrIncompatible,
			"x…"},
		"no schema":    {422, `{"error_code":42201,"message":"Invalid schema"}`, ErrUnsupported, "Invalid schema"},
		"no reason":    {422, `{}`, ErrUnsupported, "gives no reason"},
		"read only":    {403, `{"error_code":40301,"message":"no"}`, ErrUnauthorized, "grant write access"},
		"no password":  {401, `{"error_code":40101,"message":"no"}`, ErrUnauthorized, "requires a user"},
		"strange id":   {200, `{"id":-7}`, ErrUnsupported, "id -7"},
		"another page": {404, `<html>`, ErrUnreachable, "whole address"},
	} {
		s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
			if !strings.HasSuffix(r.URL.Path, "/versions") && c.status != 404 {
				missing(w, 40403, "Schema not found")
				return
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		_, err := client(t, Config{URL: s.URL}).Register(t.Context(), "visits-value", visit)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "visits-value") || len(err.Error()) > 700 {
			t.Errorf("%s: %v", name, err)
		}
		if n.Load() > 2 {
			t.Errorf("%s: %d requests: what was refused is not tried again", name, n.Load())
		}
	}
}
