package fakeregistry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// FirstID is the id of the first registered schema. Later ids increase by one.
const FirstID = 100

// Registry keeps the schemas of subjects. It is safe for concurrent use, except that Refuse must be
// set beforehand.
type Registry struct {
	*httptest.Server
	Refuse int // HTTP status with which every registration is refused; 0: none is refused

	mu       sync.Mutex
	strict   bool
	subjects map[string][]string // schemas by subject, oldest first
	all      []string
	requests []string
}

// Start starts a registry that is closed when the test ends.
func Start(t testing.TB) *Registry {
	t.Helper()
	s := &Registry{subjects: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /subjects/{subject}", s.lookUp)
	mux.HandleFunc("POST /subjects/{subject}/versions", s.add)
	mux.HandleFunc("GET /subjects/{subject}/versions/latest", s.latest)
	mux.HandleFunc("GET /schemas/ids/{id}", s.byID)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Requests returns the requests since its last call, as in "POST /subjects/visits-value".
func (s *Registry) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// Subject returns the schemas of a subject, oldest first.
func (s *Registry) Subject(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.subjects[name])
}

// Add registers a schema, as another program would, and returns its id.
func (s *Registry) Add(subject, schema string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.register(subject, schema)
}

func (s *Registry) register(subject, schema string) int {
	if !slices.Contains(s.subjects[subject], schema) {
		s.subjects[subject] = append(s.subjects[subject], schema)
	}
	if !slices.Contains(s.all, schema) {
		s.all = append(s.all, schema)
	}
	return FirstID + slices.Index(s.all, schema)
}

func unknown(w http.ResponseWriter, code int) {
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintf(w, `{"error_code":%d,"message":"not found"}`, code)
}

func (s *Registry) respond(w http.ResponseWriter, subject, schema string) {
	id := FirstID + slices.Index(s.all, schema)
	_ = json.NewEncoder(w).Encode(map[string]any{"subject": subject, "version": 1, "id": id, "schema": schema})
}

func schemaOf(r *http.Request) string {
	var body struct{ Schema string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err.Error()
	}
	return body.Schema
}

func (s *Registry) lookUp(w http.ResponseWriter, r *http.Request) {
	subject, schema := r.PathValue("subject"), schemaOf(r)
	switch kept := s.subjects[subject]; {
	case len(kept) == 0:
		unknown(w, 40401)
	case !slices.Contains(kept, schema):
		unknown(w, 40403)
	default:
		s.respond(w, subject, schema)
	}
}

func (s *Registry) add(w http.ResponseWriter, r *http.Request) {
	subject, schema := r.PathValue("subject"), schemaOf(r)
	refuse, kept := s.Refuse, s.subjects[subject]
	if s.strict && len(kept) > 0 && !slices.Contains(kept, schema) {
		refuse = http.StatusConflict
	}
	if refuse != 0 {
		w.WriteHeader(refuse)
		fmt.Fprintf(w, `{"error_code":%d,"message":"the new schema lacks the field cart"}`, refuse)
		return
	}
	s.register(subject, schema)
	s.respond(w, subject, schema)
}

func (s *Registry) latest(w http.ResponseWriter, r *http.Request) {
	kept := s.subjects[r.PathValue("subject")]
	if len(kept) == 0 {
		unknown(w, 40401)
		return
	}
	s.respond(w, r.PathValue("subject"), kept[len(kept)-1])
}

func (s *Registry) byID(w http.ResponseWriter, r *http.Request) {
	var id int
	if _, err := fmt.Sscan(r.PathValue("id"), &id); err != nil || id < FirstID || id >= FirstID+len(s.all) {
		unknown(w, 40403)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"schema": s.all[id-FirstID]})
}
