package monitor

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
)

// A browser's requests for a page of another site are refused on every path. Requests from
// Prometheus, a health check, curl and an operator's own browser are served.
func TestPagesOfOtherSitesReadNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Trusted: true, Profiles: true})
	m.Set(state())
	s := Serve(l, m.Handler())
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, one := range []struct {
		host, fields string
		want         int
	}{
		{"localhost:9464", "", 200},
		{"127.0.0.1:9464", "", 200},
		{"[::1]:9464", "", 200},
		{"run:9464", "", 200},
		{"a.localhost", "Sec-Fetch-Site: same-origin\r\n", 200},
		{"localhost:9464", "Sec-Fetch-Site: none\r\n", 200},
		{"localhost:9464", "Sec-Fetch-Site: cross-site\r\n", 403}, // <img src="http://localhost:9464/…">
		{"localhost:9464", "Sec-Fetch-Site: same-site\r\n", 403},  // another port
		{"localhost:9464", "Origin: null\r\n", 403},               // a frame in a sandbox
		{"localhost:9464", "Origin: https://example.com\r\n", 403},
		{"rebound.example.com:9464", "", 403}, // a name that points to 127.0.0.1
		{"rebound.example.com.", "", 403},
		{"127.0.0.1.example.com", "Sec-Fetch-Site: same-origin\r\n", 403},
	} {
		for _, path := range []string{"/metrics", "/-/ready", "/debug/pprof/heap?gc=1"} {
			conn, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n", path, one.host, one.fields)
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != one.want {
				t.Errorf("%s of %s, %q: %d", path, one.host, one.fields, answer.StatusCode)
			}
			answer.Body.Close() //nolint:errcheck // of a test
			conn.Close()        //nolint:errcheck // of a test
		}
	}
}

// On an address that others reach, any name can be the right one.
func TestNamesAreForTheNetworkToDecide(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1": true, "::1": true, "127.0.1.1": true, "0.0.0.0": false,
		"::": false, "192.0.2.1": false} {
		if isLocal(&net.TCPAddr{IP: net.ParseIP(address), Port: 9464}) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}
