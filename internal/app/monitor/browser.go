package monitor

import (
	"net"
	"net/http"
	"os"
	"strings"
)

// guarded wraps a handler so that it refuses requests that a web page of another site makes in the
// browser of an operator. Such a page must neither read responses nor cause profiles, which slow
// down the run. If local is set, guarded also refuses a host that is neither an address nor a name
// of this machine. The owner of another name could make it point to this machine, and a page under
// that name would then count as the same site (DNS rebinding).
func guarded(h http.Handler, local bool) http.Handler {
	hostname, _ := os.Hostname() //nolint:errcheck // if it fails, guarded refuses one more name
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin":
			http.Error(w, "not available to other web pages: type the address into the browser",
				http.StatusForbidden)
		case local && !ofThisMachine(r.Host, hostname):
			http.Error(w, "not available under this name: the server accepts only names of this machine; use "+
				"localhost, or listen on another address", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// ofThisMachine reports whether the host of a request is an address, a name without a dot, or the
// name of this machine. Nobody else can own such a host.
func ofThisMachine(host, hostname string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return !strings.Contains(host, ".") || net.ParseIP(host) != nil || strings.HasSuffix(host, ".localhost") ||
		host == strings.ToLower(hostname)
}

// isLocal reports whether only this machine can connect to an address.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
