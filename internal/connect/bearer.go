package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// bearer is the SASL mechanism OAUTHBEARER (RFC 7628), which uses the current token.
type bearer struct {
	token      func(context.Context) (string, error)
	extensions []string // name=value
}

// newBearer returns a bearer. It reads the files in the settings, but contacts no server.
func newBearer(s *deployment.SASL, logger *slog.Logger) (sasl.Mechanism, error) {
	b := &bearer{extensions: s.Extensions}
	if s.TokenFile != "" {
		current, err := newReloaded(func() (string, error) { return readToken(s.TokenFile) }, logger)
		b.token = func(context.Context) (string, error) { return current.get(), nil }
		return b, err
	}
	e := &endpoint{sasl: s, busy: make(chan struct{}, 1)}
	var err error
	if e.secret, err = newReloaded(func() (string, error) { return passwordOf(s) }, logger); err != nil {
		return nil, err
	}
	if e.trust, err = newReloaded(func() (*tls.Config, error) { return trustOf(s) }, logger); err != nil {
		return nil, err
	}
	b.token = e.token
	return b, nil
}

// readToken reads a token from a file. A token has no spaces.
func readToken(file string) (string, error) {
	const field = "Kafka.SASL.TokenFile"
	token, err := readSecret(field, file)
	if err == nil && strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		err = deployment.Invalid(field, "the file %s must contain a token and nothing else", file)
	}
	return token, err
}

// trustOf returns the TLS configuration for token requests.
func trustOf(s *deployment.SASL) (*tls.Config, error) {
	roots, err := authorities("Kafka.SASL.TokenCAFile", s.TokenCAFile)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, err
}

// tokenTimeout bounds a token request, which blocks the connection that needs the token.
const tokenTimeout = 5 * time.Second

// endpoint requests tokens from an authorization server, with the current secret. It is safe for
// concurrent use.
type endpoint struct {
	sasl   *deployment.SASL
	secret *reloaded[string]
	trust  *reloaded[*tls.Config]

	busy chan struct{} // holds an element while last is in use
	last *oauth2.Token
}

// token returns a token that is valid for at least ten seconds.
func (e *endpoint) token(ctx context.Context) (string, error) {
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for a token: %w", context.Cause(ctx))
	}
	if e.last.Valid() {
		return e.last.AccessToken, nil
	}
	t, err := e.ask(ctx)
	if err != nil {
		return "", err
	}
	e.last = t
	return t.AccessToken, nil
}

// ask requests a token. Its errors contain the server's error code, but not its message, which may
// quote the request. It follows no redirects, because the secret is only for this server.
func (e *endpoint) ask(ctx context.Context) (*oauth2.Token, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: e.trust.get(),
		DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: tokenTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	cfg := clientcredentials.Config{ClientID: e.sasl.User, ClientSecret: e.secret.get(),
		TokenURL: e.sasl.TokenURL.Reveal(), Scopes: e.sasl.Scopes}
	if e.sasl.Audience != "" {
		cfg.EndpointParams = url.Values{"audience": {e.sasl.Audience}}
	}
	t, err := cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err == nil {
		return t, nil
	}
	address, _, _ := strings.Cut(e.sasl.TokenURL.Reveal(), "?")
	var (
		refused *oauth2.RetrieveError
		failed  *url.Error
	)
	if errors.As(err, &failed) {
		err = failed.Err // failed itself would show the complete address
	}
	if errors.As(err, &refused) {
		err = fmt.Errorf("status %d", refused.Response.StatusCode)
		if refused.ErrorCode != "" {
			err = fmt.Errorf("%w, error %q", err, refused.ErrorCode)
		}
	}
	return nil, fmt.Errorf("asking %s for a token of client %q: %w", address, e.sasl.User, err)
}

// Name implements sasl.Mechanism.
func (b *bearer) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism.
func (b *bearer) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	token, err := b.token(ctx)
	if err != nil {
		return nil, nil, err
	}
	// No channel binding, and no identity other than the token's (RFC 7628, section 3.1).
	return exchange{},
		[]byte("n,,\x01" + strings.Join(append([]string{"auth=Bearer " + token}, b.extensions...), "\x01") +
			"\x01\x01"), nil
}

// exchange is what remains of an authentication after the token was sent.
type exchange struct{}

// Next implements sasl.StateMachine. If the broker refuses the token, it first sends the reason,
// and then waits for one byte before it ends the exchange with an error (RFC 7628, section 3.2.3).
func (exchange) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	return len(challenge) == 0, []byte{1}, nil
}
