package kafkalog

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// certificate makes a self-signed certificate for a host or an address.
func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der := must.Have(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	parsed := must.Have(x509.ParseCertificate(der))
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func scramOf(t *testing.T, algo scram.Algorithm, user, password string) sasl.Mechanism {
	t.Helper()
	return must.Have(scram.Mechanism(algo, user, password))
}

// plainOf is PLAIN with the name of its user, as callers have it.
func plainOf(user, password string) sasl.Mechanism {
	return withUser{plain.Mechanism{Username: user, Password: password}, user}
}

type withUser struct {
	sasl.Mechanism
	user string
}

func (m withUser) User() string { return m.user }

// accept runs a listener that hands every connection to serve, and closes it afterwards.
func accept(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestDialExplainsWhatIsWrong(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "127.0.0.1")
	otherCert, otherPool := certificate(t, "elsewhere")
	start := func(opts ...kfake.Opt) []string { return startBroker(t, opts...).ListenAddrs() }
	open := start()
	withSASL := start(kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "secret"),
		kfake.Superuser("SCRAM-SHA-256", "bob", "secret"))
	withTLS := start(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	elsewhere := start(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{otherCert}}))
	mutual := start(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}))
	hangsUp := []string{accept(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) })}
	saying := func(text string) []string {
		return []string{accept(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 100))
			_, _ = io.WriteString(c, text)
		})}
	}
	http, alerts := saying("HTTP/1.1 400 Bad Request\r\n\r\n"), saying("\x15\x03\x03\x00\x02\x02\x46")
	gone := startBroker(t)
	free := gone.ListenAddrs()
	gone.Close()
	for name, tt := range map[string]struct {
		cfg  Config
		is   error // nil: Dial succeeds
		up   bool  // it may come up
		says string
	}{
		"nothing listens": {Config{Brokers: free}, ErrUnreachable, true, "nothing listens there"},
		"unknown host": {Config{Brokers: []string{"no-such-host.invalid:9092"}}, ErrUnreachable, true,
			"broker no-such-host.invalid:9092: the host name does not resolve"},
		"wrong password": {Config{Brokers: withSASL, SASL: plainOf("alice", "guess")}, ErrRefused, false,
			`user "alice" with mechanism PLAIN failed: check user and password`},
		"wrong SCRAM": {Config{Brokers: withSASL, SASL: scramOf(t, scram.SHA256, "bob", "guess")}, ErrRefused,
			false, "mechanism SCRAM-SHA-256 failed: check user and password"},
		"SASL missing": {Config{Brokers: withSASL}, ErrRefused, true, "needs SASL or TLS"},
		"TLS missing":  {Config{Brokers: alerts}, ErrRefused, false, "the listener expects TLS: set tls"},
		"TLS not spoken": {Config{Brokers: open, TLS: &tls.Config{RootCAs: pool}}, ErrRefused, true,
			"check that this listener speaks TLS"},
		"unknown CA": {Config{Brokers: withTLS, TLS: &tls.Config{RootCAs: otherPool}, CAFile: "other.pem"},
			ErrRefused, false, "unknown authority: check the CA file other.pem"},
		"host name": {Config{Brokers: elsewhere, TLS: &tls.Config{RootCAs: otherPool}}, ErrRefused, false,
			"another host name"},
		"no CA file": {Config{Brokers: withTLS, TLS: &tls.Config{}}, ErrRefused, false, "set its CA file"},
		"other client cert": {
			Config{Brokers: mutual, TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{otherCert}},
				CertFile: "me.pem"}, ErrRefused, false, "refused the client certificate me.pem"},
		"no client cert": {Config{Brokers: mutual, TLS: &tls.Config{RootCAs: pool}}, ErrRefused, false,
			"requires a client certificate: configure"},
		"hangs up": {Config{Brokers: hangsUp}, ErrRefused, true, "needs SASL or TLS"},
		"another protocol": {Config{Brokers: http}, ErrRefused, false,
			"check that this is the port of a Kafka listener"},
		"refusals go first": {Config{Brokers: append(free, withSASL...)}, ErrRefused, true, "needs SASL"},

		"plaintext": {Config{Brokers: append(free, open...)}, nil, false, ""},
		"PLAIN":     {Config{Brokers: withSASL, SASL: plainOf("alice", "secret")}, nil, false, ""},
		"SCRAM":     {Config{Brokers: withSASL, SASL: scramOf(t, scram.SHA256, "bob", "secret")}, nil, false, ""},
		"mutual TLS": {
			Config{Brokers: mutual, TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}}, nil, false,
			""},
		"TLS server name": {Config{Brokers: elsewhere, TLS: &tls.Config{RootCAs: otherPool, ServerName: "elsewhere"}},
			nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if name == "TLS not spoken" { // a plaintext broker takes TLS for a long request
				tt.cfg.waits = waits{dial: time.Second, request: time.Second, silent: silentAfter}
			}
			c, err := Dial(ctx, tt.cfg)
			if err == nil {
				defer c.Close()
			}
			switch {
			case tt.is == nil && err != nil, !errors.Is(err, tt.is), MayComeUp(err) != tt.up:
				t.Errorf("%v (may come up: %v), want %v", err, MayComeUp(err), tt.is)
			case tt.is != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "guess")):
				t.Errorf("%v does not say %q", err, tt.says)
			}
		})
	}
}

func TestWrongMechanismNamesThoseOffered(t *testing.T) {
	t.Parallel()
	err := &stageError{stage: stageSASL, addr: "b:1", cfg: &Config{SASL: scramOf(t, scram.SHA512, "bob", "x")},
		offered: []string{"PLAIN", "SCRAM-SHA-256"}, err: codeError(33)}
	if s := err.Error(); !strings.Contains(s, "does not offer SCRAM-SHA-512; it offers: PLAIN, SCRAM-SHA-256") {
		t.Error(s)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	addr := accept(t, func(net.Conn) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	patient := Config{Brokers: []string{addr}, waits: waits{dial: time.Hour, request: time.Hour, silent: time.Hour}}
	if _, err := Dial(ctx, patient); err == nil || time.Since(start) > time.Minute {
		t.Errorf("Dial = %v after %s", err, time.Since(start))
	}
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	p, f := newProducer(t, c, 0, ""), c.NewFetcher()
	c.Close()
	c.Close()
	for name, call := range map[string]func() error{
		"append":     func() error { _, err := p.Append(t.Context(), messages("b")); return err },
		"partitions": func() error { _, err := c.Partitions(t.Context(), "t"); return err },
		"poll":       func() error { _, err := f.Poll(t.Context(), []Fetch{{Topic: "t"}}, 1, time.Second); return err },
		"create":     func() error { return c.CreateTopics(t.Context(), TopicSpec{Name: "u", Partitions: 1}) },
	} {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A broker that accepted a client before and refuses it now may have new secrets: if secrets may
// change, it counts as away, and the client retries. A broker that never accepted it does not.
func TestARefusalAfterAWelcomeIsTriedAgain(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "127.0.0.1")
	other, otherPool := certificate(t, "127.0.0.1")
	var shown, trusted atomic.Pointer[tls.Config]
	shown.Store(&tls.Config{Certificates: []tls.Certificate{cert}})
	trusted.Store(&tls.Config{RootCAs: pool})
	addr := startBroker(t, kfake.TLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return shown.Load(), nil
	}})).ListenAddrs()[0]
	dial := func(mayChange bool) (*Client, error) {
		return Dial(t.Context(),
			Config{Brokers: []string{addr}, TLS: trusted.Load(), RenewTLS: trusted.Load, MayChange: mayChange})
	}
	fixed := must.Have(dial(false))
	defer fixed.Close()
	changing := must.Have(dial(true))
	defer changing.Close()

	shown.Store(&tls.Config{Certificates: []tls.Certificate{other}})
	if err := fixed.Ping(t.Context()); !errors.Is(err, ErrRefused) || retriable(err) || len(fixed.Away()) > 0 {
		t.Errorf("where nothing may change: %v, %v", err, fixed.Away())
	}
	err := changing.Ping(t.Context())
	if away := changing.Away(); !errors.Is(err, ErrRefused) || !retriable(err) || len(away) != 1 ||
		!strings.Contains(away[0].Why, "unknown authority") {
		t.Errorf("where secrets may change: %v, %v", err, away)
	}
	if _, err := dial(true); !errors.Is(err, ErrRefused) || MayComeUp(err) {
		t.Errorf("a broker that has let no connection in: %v", err)
	}
	trusted.Store(&tls.Config{RootCAs: otherPool})
	if err := changing.Ping(t.Context()); err != nil || len(changing.Away()) > 0 {
		t.Errorf("with the new authority: %v, %v", err, changing.Away())
	}
}
