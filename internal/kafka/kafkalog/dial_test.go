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
)

// certificate makes a self-signed certificate for a host; for "", with a common name only.
func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host},
	}
	if host == "" {
		template.DNSNames = nil
	}
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func scramOf(t *testing.T, algo scram.Algorithm, user, password string) sasl.Mechanism {
	t.Helper()
	m, err := scram.Mechanism(algo, user, password)
	if err != nil {
		t.Fatal(err)
	}
	return m
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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

// listeners are brokers with every kind of listener, and some that are not brokers.
type listeners struct {
	open, withSASL, withTLS, elsewhere, mutual string
	hangsUp, http, closed, free                string
	nameless                                   string
	cert, otherCert                            tls.Certificate
	pool, otherPool, namelessPool              *x509.CertPool
}

func startListeners(t *testing.T) listeners {
	t.Helper()
	var l listeners
	l.cert, l.pool = certificate(t, "127.0.0.1")
	l.otherCert, l.otherPool = certificate(t, "elsewhere")
	nameless, namelessPool := certificate(t, "")
	l.namelessPool = namelessPool
	addr := func(opts ...kfake.Opt) string { return startBroker(t, opts...).ListenAddrs()[0] }
	l.open = addr()
	l.withSASL = addr(kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", "secret"), kfake.Superuser("SCRAM-SHA-256", "bob", "secret"))
	l.withTLS = addr(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{l.cert}}))
	l.elsewhere = addr(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{l.otherCert}}))
	l.nameless = addr(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{nameless}}))
	l.mutual = addr(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{l.cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: l.pool}))
	l.hangsUp = accept(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) })
	l.http = accept(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 100))
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	l.closed = accept(t, func(net.Conn) {})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	l.free = free.Addr().String()
	return l
}

func TestDialExplainsWhatIsWrong(t *testing.T) {
	t.Parallel()
	l := startListeners(t)
	for name, tt := range map[string]struct {
		cfg  Config
		is   error
		says []string
	}{
		"nothing listens":   {Config{Brokers: []string{l.free}}, ErrUnreachable, []string{"nothing listens there"}},
		"unknown host":      {Config{Brokers: []string{"no-such-host.invalid:9092"}}, ErrUnreachable, []string{"does not resolve", "no-such-host.invalid"}},
		"wrong password":    {Config{Brokers: []string{l.withSASL}, SASL: plainOf("alice", "guess")}, ErrRefused, []string{`user "alice"`, "PLAIN", "password"}},
		"wrong SCRAM":       {Config{Brokers: []string{l.withSASL}, SASL: scramOf(t, scram.SHA256, "bob", "guess")}, ErrRefused, []string{"SCRAM-SHA-256", "password"}},
		"unknown user":      {Config{Brokers: []string{l.withSASL}, SASL: plainOf("mallory", "guess")}, ErrRefused, []string{`user "mallory"`}},
		"SASL missing":      {Config{Brokers: []string{l.withSASL}}, ErrRefused, []string{"check whether the configuration needs SASL or TLS"}},
		"TLS missing":       {Config{Brokers: []string{l.withTLS}}, ErrRefused, []string{"TLS"}},
		"TLS not spoken":    {Config{Brokers: []string{l.open}, TLS: &tls.Config{RootCAs: l.pool}}, ErrRefused, []string{"check that this listener speaks TLS"}},
		"unknown CA":        {Config{Brokers: []string{l.withTLS}, TLS: &tls.Config{RootCAs: l.otherPool}, CAFile: "other.pem"}, ErrRefused, []string{"unknown authority", "check that the CA file other.pem is the right one"}},
		"host name":         {Config{Brokers: []string{l.elsewhere}, TLS: &tls.Config{RootCAs: l.otherPool}}, ErrRefused, []string{"another host name"}},
		"common name only":  {Config{Brokers: []string{l.nameless}, TLS: &tls.Config{RootCAs: l.namelessPool}}, ErrRefused, []string{"no subject alternative name"}},
		"no CA file":        {Config{Brokers: []string{l.withTLS}, TLS: &tls.Config{}}, ErrRefused, []string{"no CA file is set"}},
		"other client cert": {Config{Brokers: []string{l.mutual}, TLS: &tls.Config{RootCAs: l.pool, Certificates: []tls.Certificate{l.otherCert}}, CertFile: "me.pem"}, ErrRefused, []string{"refused the client certificate me.pem"}},
		"no client cert":    {Config{Brokers: []string{l.mutual}, TLS: &tls.Config{RootCAs: l.pool}}, ErrRefused, []string{"wants a client certificate: set"}},
		"hangs up":          {Config{Brokers: []string{l.hangsUp}}, ErrRefused, []string{"check whether the configuration needs SASL or TLS"}},
		"closes at once":    {Config{Brokers: []string{l.closed}}, ErrRefused, []string{"closed the connection"}},
		"another protocol":  {Config{Brokers: []string{l.http}}, ErrRefused, []string{"check that this is the port of a Kafka listener"}},
		"no broker":         {Config{}, nil, []string{"no broker address"}},
		"address":           {Config{Brokers: []string{"localhost"}}, nil, []string{`"localhost" is not host:port`}},
		"refusals go first": {Config{Brokers: []string{l.free, l.withSASL}}, ErrRefused, []string{"needs SASL"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if tt.cfg.Brokers != nil && tt.cfg.Brokers[0] == l.open {
				// A plaintext broker waits for the rest of what it takes for a long request: do not
				// wait with it.
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			}
			c, err := Dial(ctx, tt.cfg)
			if err == nil {
				c.Close()
				t.Fatal("Dial succeeded")
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v does not say %q", err, s)
				}
			}
			if strings.Contains(err.Error(), "guess") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}

func TestDialWorksWithWhatIsRight(t *testing.T) {
	t.Parallel()
	l := startListeners(t)
	for name, cfg := range map[string]Config{
		"plaintext":       {Brokers: []string{l.free, l.open}},
		"PLAIN":           {Brokers: []string{l.withSASL}, SASL: plainOf("alice", "secret")},
		"SCRAM":           {Brokers: []string{l.withSASL}, SASL: scramOf(t, scram.SHA256, "bob", "secret")},
		"TLS":             {Brokers: []string{l.withTLS}, TLS: &tls.Config{RootCAs: l.pool}},
		"mutual TLS":      {Brokers: []string{l.mutual}, TLS: &tls.Config{RootCAs: l.pool, Certificates: []tls.Certificate{l.cert}}},
		"TLS server name": {Brokers: []string{l.elsewhere}, TLS: &tls.Config{RootCAs: l.otherPool, ServerName: "elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.CreateTopics(t.Context(), TopicSpec{Name: strings.ReplaceAll(name, " ", "-"), Partitions: 1}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A broker that has let a client in and refuses it now may have changed its secrets: it is away,
// and asked again, where secrets may change; a broker that never did is not.
func TestARefusalAfterAWelcomeIsTriedAgain(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t, "127.0.0.1")
	other, otherPool := certificate(t, "127.0.0.1")
	var shown, trusted atomic.Pointer[tls.Config]
	shown.Store(&tls.Config{Certificates: []tls.Certificate{cert}})
	trusted.Store(&tls.Config{RootCAs: pool})
	addr := startBroker(t, kfake.TLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return shown.Load(), nil }})).ListenAddrs()[0]
	dial := func(mayChange bool) (*Client, error) {
		return Dial(t.Context(), Config{Brokers: []string{addr}, TLS: trusted.Load(), RenewTLS: trusted.Load, MayChange: mayChange})
	}
	fixed, err := dial(false)
	if err != nil {
		t.Fatal(err)
	}
	defer fixed.Close()
	changing, err := dial(true)
	if err != nil {
		t.Fatal(err)
	}
	defer changing.Close()

	shown.Store(&tls.Config{Certificates: []tls.Certificate{other}})
	if err := fixed.Ping(t.Context()); !errors.Is(err, ErrRefused) || retriable(err) || len(fixed.Away()) > 0 {
		t.Errorf("where nothing may change: %v, %v", err, fixed.Away())
	}
	err = changing.Ping(t.Context())
	if away := changing.Away(); !errors.Is(err, ErrRefused) || !retriable(err) || len(away) != 1 || !strings.Contains(away[0].Why, "unknown authority") {
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

func TestWrongMechanismNamesThoseOffered(t *testing.T) {
	t.Parallel()
	err := &stageError{stage: stageSASL, addr: "b:1", cfg: &Config{SASL: scramOf(t, scram.SHA512, "bob", "x")}, offered: []string{"PLAIN", "SCRAM-SHA-256"}, err: codeError(33)}
	if s := err.Error(); !strings.Contains(s, "PLAIN, SCRAM-SHA-256") || !strings.Contains(s, "does not offer SCRAM-SHA-512") {
		t.Error(s)
	}
	unsupported := &stageError{stage: stageSASL, addr: "b:1", cfg: &Config{SASL: plainOf("a", "b")}, err: codeError(34)}
	if s := unsupported.Error(); !strings.Contains(s, "has no SASL") {
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
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	mustAppend(t, p, "a")
	f := c.NewFetcher()
	asked := fetches(cluster)
	polled := make(chan error, 1)
	go func() {
		gots, err := f.Poll(context.Background(), []Fetch{{Topic: "t", Offset: 1}}, 1, time.Minute)
		if err == nil && len(gots) == 1 {
			err = gots[0].Err // where Close comes before the poll begins to wait for the answer
		}
		polled <- err
	}()
	<-asked
	c.Close()
	c.Close()
	if err := <-polled; !errors.Is(err, ErrClosed) {
		t.Errorf("poll in progress: %v", err)
	}
	if _, err := p.Append(t.Context(), messages("b")); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := c.Partitions(t.Context(), "t"); !errors.Is(err, ErrClosed) {
		t.Errorf("partitions: %v", err)
	}
	if _, err := c.NewFetcher().Poll(t.Context(), []Fetch{{Topic: "t"}}, 1, time.Second); !errors.Is(err, ErrClosed) {
		t.Errorf("poll: %v", err)
	}
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "u", Partitions: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("create: %v", err)
	}
}
