package monitor

import (
	"net"
	"net/http"
	"os"
	"strings"
)

// guarded refuses requests that a web page of another site makes in the browser of an operator. The
// page must neither read responses nor cause profiles, which slow down the run. With local, guarded
// also refuses a host that is neither an address nor a name of this machine: the owner of another
// name can make it point to this machine, and a page under that name then counts as the same site
// (DNS rebinding).
func guarded(h http.Handler, local bool) http.Handler {
	hostname, _ := os.Hostname() //nolint:errcheck // without it, guarded refuses one more name
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin":
			http.Error(w, "not for other web pages: type the address into the browser", http.StatusForbidden)
		case local && !ofThisMachine(r.Host, hostname):
			http.Error(w, "not under this name: the server accepts only this machine; use localhost, or listen on "+
				"another address", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// ofThisMachine reports whether nobody else can own the host of a request: it is an address, a name
// without a dot, or the name of this machine.
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
