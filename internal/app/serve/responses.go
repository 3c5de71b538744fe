package serve

import (
	"encoding/json"
	"net/http"
	"strings"
)

// errorResponse is the body of every error response.
type errorResponse struct {
	Error     string `json:"error"`               // the fault and its remedy
	Parameter string `json:"parameter,omitempty"` // name of the query parameter at fault
}

func fail(w http.ResponseWriter, code int, e errorResponse) {
	w.Header().Set("Cache-Control", "no-store")
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	text, err := json.Marshal(e)
	writeJSON(w, code, text, err)
}

// writeJSON responds with an encoded object or, if err reports that encoding failed, with an error.
func writeJSON(w http.ResponseWriter, code int, text []byte, err error) {
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(`{"error":"the response cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(text, '\n')) //nolint:errcheck // fails only if the client has gone away
}

// notModified sets the cache headers, with a maximum age of a second. If the client already has the
// response, fresh responds with 304 Not Modified and returns true.
func notModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public, max-age=1")
	weak := strings.TrimPrefix(tag, "W/")
	for given := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		given = strings.TrimSpace(given)
		if given == "*" || strings.TrimPrefix(given, "W/") == weak {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// write responds with the body, compressed if the client accepts it.
func (b body) write(w http.ResponseWriter, r *http.Request, contentType, tag string) {
	w.Header().Set("Vary", "Accept-Encoding")
	if notModified(w, r, tag) {
		return
	}
	text := b.plain
	if acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		text = b.packed
	}
	w.Header().Set("Content-Type", contentType)
	w.Write(text) //nolint:errcheck // fails only if the client has gone away
}

// acceptsGzip reports whether a client accepts a response compressed with gzip.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(weight), "q="), "0.")
			return weight != "" || !strings.Contains(coding, "q=")
		}
	}
	return false
}
