package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

var (
	// ErrUnreachable is returned if no attempt got a response from a registry.
	ErrUnreachable = errors.New("schema registry unreachable")
	// ErrUnauthorized is returned if the registry refused the user and password, or a request
	// without them.
	ErrUnauthorized = errors.New("schema registry refused access")
	// ErrUnsupported is returned by Register if the registry does not accept a text as a schema.
	ErrUnsupported = errors.New("unsupported schema")
	// ErrIncompatible is returned if a subject's compatibility rule refuses a schema. The rule
	// promises the topic's readers compatible schemas.
	ErrIncompatible = errors.New("schema incompatible with those of its subject")
)

// ConfigError reports an invalid field of a Config.
type ConfigError struct {
	Field  string // "url", "user", "password" or "ca_file"
	Reason string
}

// Error returns the field and the reason.
func (e *ConfigError) Error() string {
	return "reading registry settings: " + e.Field + ": " + e.Reason
}

// Error codes of the API for a subject, version or schema that does not exist.
const (
	codeSubjectNotFound = 40401
	codeVersionNotFound = 40402
	codeSchemaNotFound  = 40403
)

// explain turns the failure of one attempt into one of this package's errors. retry reports whether
// another attempt may succeed.
func (c *Client) explain(ctx context.Context, err error) (explained error, retry bool) {
	if ctx.Err() != nil {
		return ctx.Err(), false
	}
	address := c.cfg.URL
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("%w: it is longer than %d MB", event.ErrUnfitSchema, maxResponse>>20), false
	}
	var busy *busyError
	if errors.As(err, &busy) {
		return fmt.Errorf("%w: status %[3]d from %[2]s, too many requests: allow more, or check whether records "+
			"name made-up schemas", ErrUnreachable, address, http.StatusTooManyRequests), true
	}
	var answer *sr.ResponseError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%w: %s: %s", ErrUnreachable, address, hint(err)), !errors.Is(err, errElsewhere)
	}
	if refused := c.explainRefusal(answer); refused != nil {
		return refused, false
	}
	switch code := answer.StatusCode; {
	case answer.ErrorCode == codeSchemaNotFound || answer.ErrorCode == codeSubjectNotFound ||
		answer.ErrorCode == codeVersionNotFound:
		return event.ErrUnknownSchema, false
	case code == http.StatusUnauthorized && c.cfg.User == "":
		return fmt.Errorf("%w: %s requires a user and a password: configure them", ErrUnauthorized, address), false
	case code == http.StatusUnauthorized:
		// The password may change in the file and at the registry at different times.
		return fmt.Errorf("%w: %s does not accept the password of user %q", ErrUnauthorized, address, c.cfg.User),
			c.cfg.PasswordFile != ""
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %s does not allow user %q to read a schema: grant read access to every subject, "+
			"because records may name any", ErrUnauthorized, address, c.cfg.User), false
	case code >= 500:
		return fmt.Errorf("%w: status %[3]d from %[2]s: read the registry's log", ErrUnreachable, address, code), true
	}
	return fmt.Errorf("%w: status %[3]d from %[2]s, so it is not a registry: check the whole address, with the path "+
		"before /schemas", ErrUnreachable, address, answer.StatusCode), false
}

// hint returns why a request got no response, with a remedy.
func hint(err error) string {
	var (
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		record    tls.RecordHeaderError
		timeout   net.Error
	)
	switch {
	case errors.As(err, &name):
		return "the host name does not resolve: check the address"
	case errors.As(err, &authority):
		return "its certificate is signed by an authority that is not trusted: set the CA file"
	case errors.As(err, &host) && len(host.Certificate.DNSNames)+len(host.Certificate.IPAddresses) == 0:
		return "its certificate has no subject alternative name, and a common name does not count: sign one that has " +
			"the registry's host name as SAN"
	case errors.As(err, &host):
		return "its certificate is for another host name: check the address"
	case errors.As(err, &record):
		return "it does not speak TLS: try http instead of https"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no response in time: check address, port and firewall"
	}
	return err.Error()
}
