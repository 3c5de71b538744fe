package deployment

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
)

// check returns an error if the registry's address is invalid. field is its path in Config.
func (g *Registry) check(field string) error {
	if g.URL == "" {
		return Invalid(field+".URL", "no registry is named")
	}
	var bad *registry.ConfigError
	if errors.As(registry.CheckURL(g.URL), &bad) {
		return Invalid(field+"."+map[string]string{"url": "URL", "user": "User", "password": "Password",
			"ca_file": "CAFile"}[bad.Field], "%s", bad.Reason)
	}
	return nil
}

// identity returns a string that identifies the registry, because a schema id in a record may mean
// another schema in another registry. The string does not depend on TLS or the user.
func (g *Registry) identity() string {
	if g == nil {
		return ""
	}
	u, err := url.Parse(g.URL)
	if err != nil || u.Host == "" {
		return g.URL
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port) + strings.TrimRight(u.EscapedPath(), "/")
}
