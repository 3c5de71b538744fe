package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"time"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

// maxPause bounds the pause between two attempts.
const maxPause = 5 * time.Second

func (c Config) check() error {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return &ConfigError{"url", "no address of a schema registry"}
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return &ConfigError{"url", "the address must be http://host:port or https://host:port"}
	case u.User != nil:
		return &ConfigError{"url", "user and password have settings of their own: addresses are shown in errors"}
	case c.Password != "" && c.User == "":
		return &ConfigError{"user", "there is a password, but no user"}
	case c.CAFile != "" && u.Scheme != "https":
		return &ConfigError{"ca_file", "certificates are for https, the address is http"}
	case c.Timeout < 0 || c.Attempts < 0 || c.Pause < 0:
		return &ConfigError{"url", "timeout, attempts and pause must not be negative"}
	}
	return nil
}

func (c Config) transport() (*http.Transport, error) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: c.Timeout,
		MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, &ConfigError{"ca_file", err.Error()}
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &ConfigError{"ca_file", fmt.Sprintf("%s has no certificate in PEM form", c.CAFile)}
		}
	}
	return t, nil
}

// bounded cuts answers that are too long for a registry's.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// try asks until there is an answer, the attempts are used up or ctx ends.
func (c *Client) try(ctx context.Context, ask func(context.Context) error) error {
	pause := c.cfg.Pause
	for attempt := 1; ; attempt++ {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		explained, again := c.explain(ctx, err)
		if !again || attempt == c.cfg.Attempts {
			if attempt > 1 && errors.Is(explained, ErrUnreachable) {
				return fmt.Errorf("%w (%d attempts)", explained, attempt)
			}
			return explained
		}
		// Up to half as much again, so that many readers do not ask at once.
		wait := time.NewTimer(pause + rand.N(pause/2+1))
		select {
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		case <-wait.C:
		}
		pause = min(2*pause, maxPause)
	}
}
