package serve

import (
	"bytes"
	"net/http"
	"testing"
)

// BenchmarkAnswer is what one answer costs, without the network.
func BenchmarkAnswer(b *testing.B) {
	s := serveValues(b, windows(0, 500))
	h, err := s.handler()
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"page": "/", "releases=100": "/v1/releases", "releases=1000": "/v1/releases?limit=1000", "key": "/v1/releases?metric=views&key=home&limit=10"} {
		b.Run(name, func(b *testing.B) {
			r, err := http.NewRequest(http.MethodGet, path, nil)
			if err != nil {
				b.Fatal(err)
			}
			r.RequestURI = path
			r.Header.Set("Accept-Encoding", "gzip")
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&sink{header: http.Header{}}, r)
			}
		})
	}
}

// sink is an http.ResponseWriter.
type sink struct {
	header http.Header
	bytes.Buffer
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
