package monitor

import (
	"net"
	"net/http"
	"os"
	"strings"
)

// guarded refuses what a web page of another site asks for in the browser of an operator: it must
// not read what is served, nor have profiles made, which cost the run time. With local, a host that
// is neither of this machine nor an address is refused as well: the owner of a name can let it
// point to this machine, and is then of the same site (DNS rebinding).
func guarded(h http.Handler, local bool) http.Handler {
	hostname, _ := os.Hostname() //nolint:errcheck // without a name there is one host less
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin":
			http.Error(w, "not for other web pages: type the address into the browser", http.StatusForbidden)
		case local && !ofThisMachine(r.Host, hostname):
			http.Error(w, "not under this name: only this machine is listened to; ask localhost, or listen on another "+
				"address", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// ofThisMachine reports whether others cannot own the host of a request: it is an address, a name
// without a dot, or the machine's own.
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
