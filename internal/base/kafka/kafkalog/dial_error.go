package kafkalog

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"
)

type stage int

const (
	stageConnect stage = iota
	stageTLS
	stageVersions
	stageSASL
	stageMetadata
)

// stageError wraps ErrUnreachable or ErrRefused, and says which stage of connecting failed.
type stageError struct {
	stage    stage
	addr     string
	cfg      *Config
	offered  []string // SASL mechanisms of the listener
	accepted bool     // Config.MayChange is set, and the broker accepted this client before
	err      error
}

func (e *stageError) Error() string { return fmt.Sprintf("broker %s: %s", e.addr, e.why()) }

func (e *stageError) why() string {
	hint := e.responseHint
	switch e.stage {
	case stageConnect:
		hint = e.connectHint
	case stageTLS:
		hint = e.tlsHint
	case stageSASL:
		hint = e.saslHint
	}
	return fmt.Sprintf("%s (%v)", hint(), e.err)
}

func (e *stageError) Unwrap() []error {
	if e.stage == stageConnect {
		return []error{ErrUnreachable, e.err}
	}
	return []error{ErrRefused, e.err}
}

func (e *stageError) Is(target error) bool {
	return target == errTransient && e.transient()
} //nolint:errorlint // it implements errors.Is

func (e *stageError) silent() bool {
	var timeout net.Error
	return errors.As(e.err, &timeout) && timeout.Timeout() || errors.Is(e.err, context.Canceled)
}

// transient reports whether a retry may succeed: the broker may be starting or stopping, or may
// learn of new secrets earlier or later than this client.
func (e *stageError) transient() bool {
	return e.stage == stageConnect || e.silent() || e.accepted ||
		(hungUp(e.err) && !isCode(e.err, kafka.SASLAuthenticationFailed))
}

func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

func (e *stageError) connectHint() string {
	switch {
	case errors.As(e.err, new(*net.DNSError)):
		return "the host name does not resolve: check its spelling, and this machine's DNS"
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return "nothing listens there: check that the broker is running and the port is right"
	}
	return "no connection: check that the broker is running, and the route to it"
}

func (e *stageError) responseHint() string {
	switch {
	case errors.Is(e.err, errExpectsTLS):
		return "the listener expects TLS: set tls in the configuration"
	case alert(e.err):
		return e.certificateHint()
	case errors.Is(e.err, ErrCorrupt):
		return "the response is not in Kafka's protocol: check that this is the port of a Kafka listener"
	case hungUp(e.err) && (e.cfg.SASL == nil || e.stage == stageVersions):
		return "the broker closed the connection: unless it is starting or stopping, check whether the configuration " +
			"needs SASL or TLS"
	case hungUp(e.err):
		return "the broker closed the connection: check whether it is starting or stopping"
	case e.silent():
		return "the broker accepted the connection but did not respond: check whether it is overloaded, or " +
			"another service"
	}
	return "the broker did not accept the request"
}

func (e *stageError) tlsHint() string {
	switch {
	case errors.As(e.err, new(x509.HostnameError)):
		return "the broker's certificate is for another host name: use the address in the certificate"
	case errors.As(e.err, new(x509.CertificateInvalidError)):
		return "the broker's certificate is not valid: check whether it has expired or a clock is wrong"
	case errors.As(e.err, new(*tls.CertificateVerificationError)) && e.cfg.TLS.RootCAs == nil:
		return "the broker's certificate is signed by an unknown authority: set its CA file"
	case errors.As(e.err, new(*tls.CertificateVerificationError)):
		return "the broker's certificate is signed by an unknown authority: check the CA file " + e.cfg.CAFile
	case alert(e.err):
		return e.certificateHint()
	}
	return "the TLS handshake failed: unless the broker is starting or stopping, check that this listener speaks TLS"
}

func (e *stageError) certificateHint() string {
	if e.cfg.TLS == nil || len(e.cfg.TLS.Certificates) == 0 {
		return "the broker requires a client certificate: configure one"
	}
	return fmt.Sprintf("the broker refused the client certificate %s: check that it trusts the CA that signed it",
		e.cfg.CertFile)
}

func (e *stageError) saslHint() string {
	mechanism := e.cfg.SASL.Name()
	failed := "authentication with mechanism " + mechanism + " failed"
	if n, ok := e.cfg.SASL.(Named); ok {
		failed = fmt.Sprintf("authentication of user %q with mechanism %s failed", n.User(), mechanism)
	}
	switch {
	case mechanism == "OAUTHBEARER" && isCode(e.err, kafka.SASLAuthenticationFailed):
		return failed + ": check that the broker accepts this token, and that it has not expired"
	case hungUp(e.err), isCode(e.err, kafka.SASLAuthenticationFailed):
		return failed + ": check user and password"
	case isCode(e.err, kafka.UnsupportedSASLMechanism):
		return fmt.Sprintf("the listener does not offer %s; it offers: %s", mechanism,
			cmp.Or(strings.Join(e.offered, ", "), "none"))
	case isCode(e.err, kafka.IllegalSASLState):
		return "this listener has no SASL: remove sasl from the configuration or use another port"
	}
	return failed
}

// alert reports whether the text of err is a fatal TLS alert about the client's certificate.
func alert(err error) bool {
	s := err.Error()
	return strings.Contains(s, "remote error: tls:") && strings.Contains(s, "certificate")
}
