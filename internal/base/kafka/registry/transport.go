package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxResponse is the maximum number of bytes that are read from a response.
const maxResponse = 4 << 20

// maxPause is the maximum pause between two attempts.
const maxPause = 5 * time.Second

const (
	// maxRequestedPause is the maximum pause that a registry can request.
	maxRequestedPause = time.Minute
	// reportAfter is how long a request waits for a busy registry before Config.Waiting is called.
	reportAfter = 10 * time.Second
)

// CheckURL returns a *ConfigError unless a text can be the address of a registry.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return &ConfigError{"url", "no address of a schema registry"}
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return &ConfigError{"url", "the address must be http://host:port or https://host:port"}
	case u.User != nil:
		return &ConfigError{"url",
			"remove user and password from the address, because errors show it: they have their own settings"}
	case u.RawQuery != "" || u.Fragment != "":
		return &ConfigError{"url",
			"remove the query (the part after ? or #), because errors show addresses and a query may contain a secret"}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return &ConfigError{"url", fmt.Sprintf("its port is %s: ports are 1 to 65535", port)}
		}
	}
	return nil
}

func (c Config) check() error {
	if err := CheckURL(c.URL); err != nil {
		return err
	}
	switch {
	case c.Password.Reveal() != "" && c.User == "":
		return &ConfigError{"user", "there is a password, but no user"}
	case c.CAFile != "" && !strings.HasPrefix(strings.ToLower(c.URL), "https:"):
		return &ConfigError{"ca_file", "certificates are for https, the address is http"}
	case c.Timeout < 0 || c.Attempts < 0 || c.Pause < 0 || c.Patience < 0:
		return &ConfigError{"url", "timeout, attempts, pause and patience must not be negative"}
	}
	return nil
}

// boundedTransport truncates responses that are too long for a registry, and turns "too many
// requests" into a *busyError.
type boundedTransport struct{ http.RoundTripper }

func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
		_ = resp.Body.Close()
		return nil, &busyError{retryAfter(resp.Header, time.Now())}
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxResponse, cutIsError: resp.StatusCode == http.StatusOK}
	return resp, nil
}

// errTooLong is wrapped by the error of a JSON object that is longer than maxResponse.
var errTooLong = errors.New("the response is too long")

// boundedBody ends after maxResponse bytes. If that truncates a JSON object with a schema, it ends
// with errTooLong, because the next response would be just as long.
type boundedBody struct {
	io.ReadCloser
	left       int
	cutIsError bool // truncating the body is an error
	object     bool
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		if b.cutIsError && b.object {
			return 0, errTooLong
		}
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	if b.left == maxResponse && n > 0 {
		b.object = p[0] == '{'
	}
	b.left -= n
	return n, err
}

// busyError means that the request must be repeated after a pause. after is the pause that the
// registry requests; 0: none.
type busyError struct{ after time.Duration }

func (e *busyError) Error() string { return "status 429 from the registry: too many requests" }

// retryAfter returns the pause in a Retry-After header, which contains seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// try repeats a request until a response arrives, the attempts are used up or ctx ends. "Too many
// requests" does not count as an attempt: records can need schemas faster than a registry allows,
// and it responds again once requests are slow enough. Config.Patience limits these retries.
func (c *Client) try(ctx context.Context, ask func(context.Context) error) error {
	pause := c.cfg.Pause
	var waited time.Duration // total of the pauses that the registry requested
	logged := false
	for attempt := 1; ; {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		explained, retry := c.explain(ctx, err)
		wait := pause
		var busy *busyError
		if retry && errors.As(err, &busy) {
			wait = max(pause, min(busy.after, maxRequestedPause))
			if waited += wait; waited > c.cfg.Patience {
				return fmt.Errorf("%w (asked again for %v)", explained, c.cfg.Patience)
			}
			if waited > reportAfter && !logged && c.cfg.Waiting != nil {
				logged = true
				c.cfg.Waiting(explained)
			}
		} else {
			if !retry || attempt == c.cfg.Attempts {
				if attempt > 1 && errors.Is(explained, ErrUnreachable) {
					return fmt.Errorf("%w (%d attempts)", explained, attempt)
				}
				return explained
			}
			attempt++
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, maxPause)
	}
}

// sleep waits for d plus a random time of up to half of d, so that many readers do not send their
// requests at once.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d + rand.N(d/2+1)):
		return nil
	}
}
