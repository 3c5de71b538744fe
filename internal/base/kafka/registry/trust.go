package registry

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// trust is an http.RoundTripper that uses the current password and the current CA certificates,
// which may be in files that change. While a file cannot be read because it is being replaced,
// trust uses its last contents. It is safe for concurrent use.
type trust struct {
	cfg      Config
	registry *url.URL

	mu        sync.Mutex
	ca        []byte // certificates in the transport
	transport *http.Transport
}

func newTrust(cfg Config) (*trust, error) {
	address, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, &ConfigError{"url", "it is not an address, such as https://host:8081"}
	}
	t := &trust{cfg: cfg, registry: address}
	ca, err := cfg.readCA()
	if err != nil {
		return nil, &ConfigError{"ca_file", err.Error()}
	}
	if t.transport, err = cfg.transport(ca); err != nil {
		return nil, err
	}
	t.ca = ca
	return t, nil
}

// errElsewhere means that a registry redirects to another server, which must not get the password.
var errElsewhere = errors.New("the registry redirects to this address, to which Tollgate does not send the password: " +
	"if you trust it, configure this address instead")

// RoundTrip implements http.RoundTripper.
func (t *trust) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.cfg.User != "" {
		if r.URL.Scheme != t.registry.Scheme || r.URL.Host != t.registry.Host {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, errElsewhere
		}
		r = r.Clone(r.Context())
		r.SetBasicAuth(t.cfg.User, t.password())
	}
	return t.current().RoundTrip(r)
}

func (t *trust) password() string {
	if t.cfg.PasswordFile == "" {
		return t.cfg.Password.Reveal()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	data, err := os.ReadFile(t.cfg.PasswordFile)
	if password := secret.Line(string(data)); err == nil && password != "" {
		t.cfg.Password = secret.New(password)
	}
	return t.cfg.Password.Reveal()
}

// current returns a transport that trusts the current certificates.
func (t *trust) current() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	ca, err := t.cfg.readCA()
	if err != nil || bytes.Equal(ca, t.ca) {
		return t.transport
	}
	if next, err := t.cfg.transport(ca); err == nil {
		t.transport.CloseIdleConnections()
		t.ca, t.transport = ca, next
	}
	return t.transport
}

func (t *trust) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.transport.CloseIdleConnections()
}

// readCA returns the contents of CAFile, or nil if the system's certificates are trusted.
func (c Config) readCA() ([]byte, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	ca, err := os.ReadFile(c.CAFile)
	return bytes.TrimPrefix(ca, []byte("\uFEFF")), err
}

// transport returns a transport that trusts registries with certificates signed by ca.
func (c Config) transport(ca []byte) (*http.Transport, error) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: c.Timeout,
		MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.CAFile != "" {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca) {
			return nil, &ConfigError{"ca_file", fmt.Sprintf("%s contains no certificate in PEM format", c.CAFile)}
		}
	}
	return t, nil
}
