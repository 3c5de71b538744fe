package pipeline

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// guarded is a broker with mutual TLS and SCRAM whose secrets can be replaced.
type guarded struct {
	addr       string
	admin      *kgo.Client
	current    atomic.Pointer[tls.Config]
	handshakes atomic.Int64 // since the last rotation

	mu    sync.Mutex
	conns []net.Conn
}

// listen keeps the connections of a listener, so that they can be cut.
func (g *guarded) listen(network, _ string) (net.Listener, error) {
	l, err := net.Listen(network, "127.0.0.1:0")
	return keeping{l, g}, err
}

type keeping struct {
	net.Listener
	g *guarded
}

func (k keeping) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err == nil {
		k.g.mu.Lock()
		k.g.conns = append(k.g.conns, c)
		k.g.mu.Unlock()
	}
	return c, err
}

// serverOf returns TLS of a broker that has a certificate, and wants one of the same authority.
func serverOf(t *testing.T, f deploytest.PEMFiles) *tls.Config {
	t.Helper()
	pair := must.Have(tls.LoadX509KeyPair(f.Cert, f.Key))
	pool, data := x509.NewCertPool(), must.Have(os.ReadFile(f.Cert))
	pool.AppendCertsFromPEM(data)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: pool, RootCAs: pool}
}

func startGuarded(t *testing.T, f deploytest.PEMFiles) *guarded {
	t.Helper()
	g := &guarded{}
	g.current.Store(serverOf(t, f))
	cluster := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(g.listen), kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-256", "bob", "s3cret1"),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}),
		kfake.TLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			g.handshakes.Add(1)
			return g.current.Load(), nil
		}})))
	t.Cleanup(cluster.Close)
	g.addr = cluster.ListenAddrs()[0]
	client := g.current.Load().Clone()
	client.ServerName = "127.0.0.1"
	g.admin = must.Have(kgo.NewClient(kgo.SeedBrokers(g.addr), kgo.DialTLSConfig(client),
		kgo.SASL(scram.Auth{User: "bob", Pass: "s3cret1"}.AsSha256Mechanism())))
	t.Cleanup(g.admin.Close)
	return g
}

// rotate replaces the password and all certificates, and cuts all connections.
func (g *guarded) rotate(t *testing.T, f deploytest.PEMFiles, password string) {
	t.Helper()
	up := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	up.Name, up.Mechanism, up.Iterations, up.Salt = "bob", 1, 4096, []byte("salt")
	up.SaltedPassword = must.Have(pbkdf2.Key(sha256.New, password, up.Salt, int(up.Iterations), sha256.Size))
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = append(req.Upsertions, up)
	res, err := req.RequestWith(t.Context(), g.admin)
	if err != nil || res.Results[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
	g.current.Store(serverOf(t, f))
	g.handshakes.Store(0)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

// A run goes on over a rotation of every secret of its connections, although the broker has the new
// ones before the files have, and the files are replaced one after the other.
func TestARunTakesUpNewCertificatesAndPasswords(t *testing.T) {
	t.Parallel()
	first, second := deploytest.WritePEM(t), deploytest.WritePEM(t)
	live := t.TempDir()
	put := func(name string, data []byte) string {
		file := filepath.Join(live, name)
		must.Succeed(t, os.WriteFile(file, data, 0o600))
		return file
	}
	g := startGuarded(t, first)
	cfg := deploytest.Config(g.addr)
	cfg.Metrics[0].Window = time.Second
	cfg.Kafka.TLS = &deployment.TLS{
		CAFile: put("ca.pem", must.Have(os.ReadFile(first.Cert))), CertFile: put("cert.pem",
			must.Have(os.ReadFile(first.Cert))),
		KeyFile: put("key.pem", must.Have(os.ReadFile(first.Key))),
	}
	cfg.Kafka.SASL = &deployment.SASL{Mechanism: "scram-sha-256", User: "bob", PasswordFile: put("password",
		[]byte("s3cret1\n"))}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deploy(t, cfg, start, 1)
	client := dial(t, d)
	producer := must.Have(client.NewProducer(t.Context(), "events", 0, ""))
	events := eventsEvery(100*time.Millisecond, start, 200)
	must.Have(producer.Append(t.Context(), events[:100]))

	var settled atomic.Int64
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		if point == crashpoint.SettledWritten {
			settled.Add(1)
		}
		return nil
	}}
	logged, drain, over := &await.Buffer{}, make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := Run(crashpoint.With(context.Background(), hooks), d, RunOptions{Drain: drain,
			Logger: slog.New(slog.NewTextHandler(logged, nil))})
		over <- err
	}()
	await.That(t, time.Minute, "turns are settled", func() bool { return settled.Load() >= 9 })

	refusedTwice := func() bool {
		select {
		case err := <-over:
			t.Fatalf("the run ended: %v\n%s", err, logged)
		default:
		}
		return g.handshakes.Load() >= 4
	}
	g.rotate(t, second, "s3cret2")
	await.That(t, time.Minute, "the old secrets are refused", refusedTwice)
	put("cert.pem", must.Have(os.ReadFile(second.Cert)))
	await.That(t, time.Minute, "a certificate without its key is seen", func() bool {
		return refusedTwice() && strings.Contains(logged.String(), "do not belong together")
	})
	put("key.pem", must.Have(os.ReadFile(second.Key)))
	put("ca.pem", must.Have(os.ReadFile(second.Cert)))
	put("password", []byte("s3cret2\n"))

	must.Have(producer.Append(t.Context(), events[100:]))
	await.That(t, time.Minute, "turns are settled after the rotation", func() bool {
		return refusedTwice() && settled.Load() >= 19
	})
	close(drain)
	if err := <-over; err != nil {
		t.Errorf("%v\n%s", err, logged)
	}
	if strings.Contains(logged.String(), "s3cret") {
		t.Errorf("the log has a password:\n%s", logged)
	}
}
