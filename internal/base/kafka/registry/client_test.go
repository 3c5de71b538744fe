package registry

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a registry; answer decides by path and by the number of the request.
func fake(t *testing.T, secure bool,
	answer func(w http.ResponseWriter, r *http.Request, n int64)) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, n.Add(1)) })
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, &n
}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Pause = time.Millisecond
	c := must.Have(New(cfg))
	t.Cleanup(c.Close)
	return c
}

const text = `{"schema":"{\"type\":\"record\",\"name\":\"R\",\"fields\":[]}"}`

func missing(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintf(w, `{"error_code":%d,"message":%q}`, code, message)
}

func TestSchemasAreAskedForOnce(t *testing.T) {
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		if r.URL.Path != "/base/schemas/ids/7" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		fmt.Fprint(w, text)
	})
	c := client(t, Config{URL: s.URL + "/base"})
	for range 3 {
		got, err := c.Schema(t.Context(), 7)
		if err != nil || !strings.Contains(got, `"name":"R"`) {
			t.Fatal(got, err)
		}
	}
	if n.Load() != 1 {
		t.Errorf("%d requests", n.Load())
	}
}

func TestOnlyTheRegistryItselfSaysThatThereIsNoSchema(t *testing.T) {
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		switch r.URL.Path {
		case "/schemas/ids/1":
			missing(w, 40403, "Schema not found")
		case "/schemas/ids/2":
			http.Error(w, "<html>no such page</html>", http.StatusNotFound)
		case "/subjects/visits-value/versions/latest":
			missing(w, 40401, "Subject not found")
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	})
	c := client(t, Config{URL: s.URL})
	if _, err := c.Schema(t.Context(), 1); !errors.Is(err, event.ErrUnknownSchema) {
		t.Errorf("unknown id: %v", err)
	}
	if _, err := c.Schema(t.Context(), 1<<31); !errors.Is(err, event.ErrUnknownSchema) {
		t.Errorf("id beyond 31 bits: %v", err)
	}
	if _, err := c.Schema(t.Context(), 2); !errors.Is(err, ErrUnreachable) || errors.Is(err, event.ErrUnknownSchema) ||
		!strings.Contains(err.Error(), "whole address") {
		t.Errorf("page that is not the registry's: %v", err)
	}
	if _, err := c.Latest(t.Context(), "visits-value"); !errors.Is(err, event.ErrUnknownSchema) {
		t.Errorf("unknown subject: %v", err)
	}
	if n.Load() != 3 {
		t.Errorf("%d requests: definite answers are not asked for again", n.Load())
	}
}

func TestFailuresThatPassAreTriedAgain(t *testing.T) {
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, n int64) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			fmt.Fprint(w, `{"schema":`) // broken off
		default:
			fmt.Fprint(w, text)
		}
	})
	if _, err := client(t, Config{URL: s.URL}).Schema(t.Context(), 7); err != nil || n.Load() != 4 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
	n.Store(0)
	if _, err := client(t, Config{URL: s.URL, Attempts: 2}).Schema(t.Context(), 7); !errors.Is(err, ErrUnreachable) ||
		!strings.Contains(err.Error(), "2 attempts") {
		t.Errorf("two attempts: %v", err)
	}
	gone := s.URL
	s.Close()
	if _, err := client(t, Config{URL: gone, Attempts: 2}).Schema(t.Context(), 7); !errors.Is(err, ErrUnreachable) ||
		errors.Is(err, event.ErrUnknownSchema) {
		t.Errorf("nothing listens: %v", err)
	}
}

// Records with made-up schema ids can cause more requests than a registry allows: "too many
// requests" is waited out, however often it is returned, and does not count as an attempt.
func TestRuleABusyRegistryIsAskedAgainLater(t *testing.T) {
	const busy = 12 // more than there are attempts
	var failures atomic.Int64
	failures.Store(4) // as many as without
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, n int64) {
		switch {
		case n <= busy:
			w.WriteHeader(http.StatusTooManyRequests)
		case n <= busy+failures.Load():
			w.WriteHeader(http.StatusBadGateway)
		default:
			fmt.Fprint(w, text)
		}
	})
	patient := client(t, Config{URL: s.URL, Patience: time.Hour})
	patient.cfg.Pause = time.Nanosecond
	if _, err := patient.Schema(t.Context(), 7); err != nil || n.Load() != busy+5 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
	n.Store(0)
	failures.Store(5)
	if _, err := patient.Schema(t.Context(), 8); !errors.Is(err, ErrUnreachable) || n.Load() != busy+5 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
}

// The pause that the registry asks for is kept, up to a minute, and the waiting has an end.
func TestABusyRegistrySaysWhenToAskAgain(t *testing.T) {
	after := "3600"
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
	})
	for _, c := range []struct {
		after    string
		patience time.Duration
		ends     bool
	}{{"3600", time.Minute - 1, true}, {"3600", time.Minute, false}, {"7", 7*time.Second - 1, true},
		{"7", 7 * time.Second, false},
		{"soon", time.Microsecond, true}, {"-5", time.Microsecond, true}, {"99999999999999999999", time.Microsecond,
			true}} {
		after = c.after
		n.Store(0)
		limit := 100 * time.Millisecond
		if c.ends { // before it pauses, however slow this machine is
			limit = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := client(t, Config{URL: s.URL, Patience: c.patience}).Schema(ctx, 7)
		cancel()
		if got := errors.Is(err, ErrUnreachable); got != c.ends || !got && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, patience %v: %v", c.after, c.patience, err)
		}
		if got := n.Load(); got > 1 {
			t.Errorf("%s: asked %d times without a pause", c.after, got)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "0": 0, "12": 12 * time.Second,
		"Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second, "Wed, 31 Dec 2025 00:00:30 GMT": 0} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", text, got, want)
		}
	}
	pauses := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	after = "11"
	if _, err := client(t, Config{URL: s.URL, Waiting: func(why error) {
		if pauses++; !strings.Contains(why.Error(), "too many requests") {
			t.Error(why)
		}
		time.AfterFunc(100*time.Millisecond, cancel) // while it pauses
	}}).Schema(ctx, 7); !errors.Is(err, context.Canceled) || pauses != 1 {
		t.Errorf("%v, told %d times", err, pauses)
	}
}

// A registry's response under an id is final, however long; a response without a schema is not a
// registry's.
func TestAnswersThatAreTooLongOrHoldNoSchema(t *testing.T) {
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		switch r.URL.Path {
		case "/schemas/ids/1":
			fmt.Fprintf(w, `{"schema":"%s"}`, strings.Repeat(" ", maxResponse))
		case "/schemas/ids/2":
			fmt.Fprintf(w, `<html>%s`, strings.Repeat(" ", maxResponse))
		case "/schemas/ids/3":
			fmt.Fprint(w, `{"status":"maintenance"}`)
		}
	})
	c := client(t, Config{URL: s.URL, Attempts: 1})
	if _, err := c.Schema(t.Context(), 1); !errors.Is(err, event.ErrUnfitSchema) || n.Load() != 1 {
		t.Errorf("too long: %v", err)
	}
	for _, id := range []uint32{2, 3} {
		if _, err := c.Schema(t.Context(), id); !errors.Is(err, ErrUnreachable) ||
			errors.Is(err, event.ErrUnfitSchema) {
			t.Errorf("no registry's answer %d: %v", id, err)
		}
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	s, _ := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) { w.WriteHeader(500) })
	c := client(t, Config{URL: s.URL, Attempts: 100})
	c.cfg.Pause = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Schema(ctx, 7); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestSlowRegistriesAreUnreachable(t *testing.T) {
	ended := make(chan struct{})
	s, _ := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) { <-ended })
	defer close(ended)
	_, err := client(t, Config{URL: s.URL, Timeout: 20 * time.Millisecond, Attempts: 1}).Schema(t.Context(), 7)
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no response in time") {
		t.Error(err)
	}
}

// A client with a password follows a redirect within the registry. It sends no request to another
// server that the registry redirects to: that server would get the password.
func TestRuleAPasswordIsForItsRegistryOnly(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	var to string
	s, _ := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "s3cret" {
			t.Errorf("user %q, password %q", user, password)
		}
		if r.URL.Path == "/within" {
			fmt.Fprint(w, text)
			return
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
	cfg := Config{URL: s.URL, User: "ann", Password: secret.New("s3cret")}
	to = "/within"
	if _, err := client(t, cfg).Schema(t.Context(), 7); err != nil {
		t.Error(err)
	}
	to = other.URL
	_, err := client(t, cfg).Schema(t.Context(), 7)
	_, err2 := client(t, cfg).Register(t.Context(), "subject", text)
	for _, err := range []error{err, err2} {
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), other.URL) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Error(err)
		}
	}
	if asked.Load() != 0 {
		t.Error("another server was asked")
	}
}

func TestPasswordsAreSentAndNotShown(t *testing.T) {
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		user, password, ok := r.BasicAuth()
		switch {
		case user == "ann" && password == "s3cret":
			fmt.Fprint(w, text)
		case user == "bob":
			w.WriteHeader(http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error_code":401,"message":"%s %v"}`, password, ok)
		}
	})
	if _, err := client(t, Config{URL: s.URL, User: "ann", Password: secret.New("s3cret")}).Schema(t.Context(),
		7); err != nil {
		t.Error(err)
	}
	n.Store(0)
	for _, cfg := range []Config{{User: "ann", Password: secret.New("wr0ng")}, {},
		{User: "bob", Password: secret.New("wr0ng")}} {
		cfg.URL = s.URL
		_, err := client(t, cfg).Schema(t.Context(), 7)
		if !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "wr0ng") ||
			!strings.Contains(err.Error(), cfg.User) {
			t.Errorf("%q: %v", cfg.User, err)
		}
	}
	if n.Load() != 3 {
		t.Errorf("%d requests: what was refused is not tried again", n.Load())
	}
}

func TestCertificatesOfOnesOwnAuthority(t *testing.T) {
	s, _ := fake(t, true, func(w http.ResponseWriter, r *http.Request, _ int64) { fmt.Fprint(w, text) })
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	must.Succeed(t, os.WriteFile(file, block, 0o600))
	if _, err := client(t, Config{URL: s.URL, CAFile: file}).Schema(t.Context(), 7); err != nil {
		t.Error(err)
	}
	_, err := client(t, Config{URL: s.URL, Attempts: 1}).Schema(t.Context(), 7)
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "set the CA file") {
		t.Errorf("without the CA file: %v", err)
	}
}

// A request uses the contents of files as they are when it is sent; a file that is just being
// replaced changes nothing.
func TestPasswordsAndCertificatesThatChange(t *testing.T) {
	password := "s3cret1"
	answer := func(w http.ResponseWriter, r *http.Request, _ int64) {
		if _, sent, _ := r.BasicAuth(); sent != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, text)
	}
	s, _ := fake(t, true, answer)
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(file, data, 0o600))
		return file
	}
	right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	ca, secret := put("ca.pem", otherAuthority(t)), put("password", []byte("s3cret1\n"))
	c := client(t, Config{URL: s.URL, User: "ann", PasswordFile: secret, CAFile: ca, Attempts: 1})
	if _, err := c.Schema(t.Context(), 7); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("another authority: %v", err)
	}
	put("ca.pem", right)
	if _, err := c.Schema(t.Context(), 7); err != nil {
		t.Errorf("the authority has changed: %v", err)
	}
	put("ca.pem", nil)
	put("password", nil)
	if _, err := c.Schema(t.Context(), 8); err != nil {
		t.Errorf("files that are being replaced: %v", err)
	}
	password = "s3cret2"
	if _, err := c.Schema(t.Context(), 9); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("the password of before: %v", err)
	}
	put("password", []byte("s3cret2\n"))
	if _, err := c.Schema(t.Context(), 9); err != nil {
		t.Errorf("the password has changed: %v", err)
	}
}

// While a password changes, registry and file differ for a moment: the file is read again.
func TestAPasswordThatIsChangingIsTriedAgain(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "password")
	put := func(password string) {
		if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
			t.Error(err)
		}
	}
	put("old")
	s, n := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		if _, sent, _ := r.BasicAuth(); sent != "new" {
			put("new") // after the registry has it
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, text)
	})
	if _, err := client(t, Config{URL: s.URL, User: "ann", PasswordFile: secret}).Schema(t.Context(), 7); err != nil ||
		n.Load() != 2 {
		t.Errorf("%d requests: %v", n.Load(), err)
	}
}

// otherAuthority returns a certificate that has signed nothing.
func otherAuthority(t *testing.T) []byte {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der := must.Have(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestSchemasThatAreNotAvroOrNotWhole(t *testing.T) {
	s, _ := fake(t, false, func(w http.ResponseWriter, r *http.Request, _ int64) {
		switch r.URL.Path {
		case "/schemas/ids/1":
			fmt.Fprint(w, `{"schema":"syntax = \"proto3\";","schemaType":"PROTOBUF"}`)
		case "/schemas/ids/2":
			fmt.Fprint(w, `{"schema":"\"x\"","references":[{"name":"x","subject":"x","version":1}]}`)
		case "/subjects/visits-value/versions/latest":
			fmt.Fprint(w, `{"subject":"visits-value","version":3,"id":9,"schema":"\"string\""}`)
		}
	})
	c := client(t, Config{URL: s.URL})
	for id, says := range map[uint32]string{1: "PROTOBUF", 2: "refers to 1 other"} {
		if _, err := c.Schema(t.Context(), id); !errors.Is(err, event.ErrUnfitSchema) ||
			errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), says) {
			t.Errorf("schema %d: %v", id, err)
		}
	}
	if got, err := c.Latest(t.Context(), "visits-value"); err != nil || got != `"string"` {
		t.Errorf("latest: %q, %v", got, err)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	must.Succeed(t, os.WriteFile(empty, nil, 0o600))
	for field, cfgs := range map[string][]Config{
		"url": {{}, {URL: "registry"}, {URL: "ftp://registry"}, {URL: "https://"},
			{URL: "http://ann:s3cret@registry"}, {URL: "http://registry/?token=s3cret"}, {URL: "http://registry",
				Attempts: -1}},
		"user": {{URL: "http://registry", Password: secret.New("s3cret")}},
		"ca_file": {{URL: "http://registry", CAFile: empty}, {URL: "https://registry", CAFile: empty},
			{URL: "https://registry", CAFile: empty + ".no"}},
	} {
		for _, cfg := range cfgs {
			_, err := New(cfg)
			var bad *ConfigError
			if !errors.As(err, &bad) || bad.Field != field || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%+v: %v, want an error of %s", cfg, err, field)
			}
		}
	}
}
