package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tollgate-dp/tollgate/docs"
)

// page serves the live page.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	v := s.view.Load()
	h := w.Header()
	h.Set("Content-Security-Policy", v.policy+"; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	v.page.write(w, r, "text/html; charset=utf-8", v.tag)
}

// fixed returns a handler that serves a constant body.
func fixed(text []byte, contentType string) (http.HandlerFunc, error) {
	b, err := newBody(text)
	tag := tagOf(versionOf(text))
	return func(w http.ResponseWriter, r *http.Request) { b.write(w, r, contentType, tag) }, err
}

// maxURL limits the length of a request's path and query. It leaves room for an encoded metric and
// key, and for a cursor with both.
const maxURL = 8 << 10

// nothingHere is the page for an unknown address.
const nothingHere = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Not found</title></head>
<body><p>There is nothing at this address. <a href="/">Go to the published values</a></p></body></html>
`

// handler returns a handler that routes requests. docs/openapi.yaml describes every path.
func (s *server) handler() (http.Handler, error) {
	described, err := describe(s.deployment)
	if err != nil {
		return nil, fmt.Errorf("describing the metrics: %w", err)
	}
	names, err := fixed(described, "application/json")
	if err != nil {
		return nil, err
	}
	api, err := fixed(docs.OpenAPI, "application/yaml")
	if err != nil {
		return nil, err
	}
	routes := map[string]http.Handler{
		"/": http.HandlerFunc(s.page), "/v1/releases": public(s.releases), "/v1/shares": public(s.shares),
		"/v1/metrics": public(names), "/openapi.yaml": public(api),
		"/-/healthy": noStore(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "healthy", http.StatusOK) }),
		"/-/ready":   noStore(s.ready),
		"/metrics":   noStore(s.metrics.handler().ServeHTTP),
	}
	for path, h := range routes {
		routes[path] = s.metrics.counted(path, h)
	}
	unknown := s.metrics.counted("other", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "text/html") { // a browser
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, nothingHere) //nolint:errcheck // fails only if the client has gone away
			return
		}
		fail(w, http.StatusNotFound, errorResponse{Error: "there is nothing at this address: /openapi.yaml lists " +
			"all addresses"})
	}))
	refused := func(code int, text string) http.Handler {
		return s.metrics.counted("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close") // do not read the rest of the request
			fail(w, code, errorResponse{Error: text})
		}))
	}
	method := refused(http.StatusMethodNotAllowed, "only GET and HEAD are supported")
	long := refused(http.StatusRequestURITooLong, fmt.Sprintf("the address is longer than %d bytes", maxURL))
	withBody := refused(http.StatusBadRequest, "a request must not have a body: put parameters into the query")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		h := routes[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			h = method
		case len(r.RequestURI) > maxURL:
			h = long
		case r.ContentLength != 0:
			h = withBody
		case h == nil:
			h = unknown
		}
		h.ServeHTTP(w, r)
	}), nil
}

// secure sets the security headers of every response. The page has a separate policy.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// noStore wraps a handler so that its responses must not be cached.
func noStore(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		h(w, r)
	})
}

// public wraps a handler so that scripts of any web page may read its responses. The responses must
// be the same for everybody.
func public(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "ETag")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		h(w, r)
	})
}
