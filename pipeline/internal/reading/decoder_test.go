package reading

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// registryWith returns a registry with one schema for every subject, or without any subject.
func registryWith(t *testing.T, schema string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		switch {
		case r.URL.Path != "/subjects/events-value/versions/latest":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40403,"message":"not found"}`))
		case schema == "":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40401,"message":"Subject not found."}`))
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"subject": "events-value", "version": 1, "id": 7,
				"schema": schema})
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A schema of the registry that cannot serve the configuration is refused before
// a record is read, with the field and the reason.
func TestTheNewestSchemaOfTheRegistryIsLookedAtFirst(t *testing.T) {
	const schema = `{"type":"record","name":"visit","fields":[` +
		`{"name":"user","type":"string"},{"name":"at","type":"%"},{"name":"page","type":"string"}]}`
	for name, c := range map[string]struct{ schema, key, want string }{
		"fits": {strings.Replace(schema, `"%"`, `{"type":"long","logicalType":"timestamp-millis"}`, 1), "page",
			""},
		"unknown": {"", "page", ""},
		"field missing": {strings.Replace(schema, `"%"`, `{"type":"long","logicalType":"timestamp-millis"}`, 1),
			"pagina", "pagina"},
		"wrong time": {strings.Replace(schema, `"%"`, `"boolean"`, 1), "page", "at"},
	} {
		cfg := deploytest.Config("localhost:1")
		cfg.Events.Format = event.Format{Format: "avro", User: "user", Key: c.key, Time: "at"}
		cfg.Events.Registry = &deployment.Registry{URL: registryWith(t, c.schema)}
		d := must.Have(deployment.Compile(cfg))
		_, err := NewDecoder(t.Context(), d, slog.New(slog.DiscardHandler))
		var bad *event.FormatError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" &&
			(!errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "events-value")):
			t.Errorf("%s: got %v, want an error about %q", name, err, c.want)
		}
	}
}
