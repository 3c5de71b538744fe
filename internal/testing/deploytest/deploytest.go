package deploytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// AsSum returns a function that changes a configuration from Config. The function makes the metric
// a sum of prices from 0 to 100, over up to two events per key, and then calls change.
func AsSum(change func(m *deployment.Metric)) func(c *deployment.Config) {
	return func(c *deployment.Config) {
		c.Events.Format.Value = "price"
		m := &c.Metrics[0]
		m.Kind, m.Max, m.Target.Relative, m.MaxEventsPerKey = "sum", 100, 0.1, 2
		change(m)
	}
}

// Config returns a valid configuration for the broker at addr. It has one metric with the public
// keys a, b and c and one-minute windows, producers' times, and constant secret keys.
func Config(addr string) deployment.Config {
	return deployment.Config{
		Kafka: deployment.Kafka{Brokers: []string{addr}},
		Events: deployment.Events{Topic: "events", Format: event.Format{Format: "jsonl", User: "user", Key: "key",
			Time: "time", TimeUnit: "ms"}},
		Privacy: deployment.Privacy{Epsilon: 1, Delta: 1e-6, Lasts: 5 * time.Minute},
		Time:    deployment.Time{Trust: deployment.TrustProducer, AcceptFuture: true},
		Metrics: []deployment.Metric{{
			Name: "views", Window: time.Minute, Keys: deployment.Keys{Mode: deployment.KeysPublic,
				List: []string{"a", "b", "c"}},
			MaxKeysPerUser: 2, MaxEventsPerKey: 3,
			Target: noisereduction.Target{Relative: 0.05, Absolute: 80, Confidence: 0.95},
		}},
		Keys: deployment.SecretKeys{Noise: noisereduction.NoiseKey{ID: "k1", Secret: secret.New([32]byte{1})},
			UserHash: secret.New([32]byte{2})},
		Shards: 4,
	}
}

// PayFor sets the target of the first metric to the least noise that an account can pay for. The
// account pays, with all its budget, for a user at the caps in the given number of windows.
func PayFor(t testing.TB, c *deployment.Config, windows int) {
	t.Helper()
	d, err := deployment.Compile(*c)
	if err != nil {
		t.Fatal(err)
	}
	m := &d.Config.Metrics[0]
	ladder := noisereduction.Spec{Kind: noisereduction.Kind(m.Ladder.Kind), Factor: m.Ladder.Factor, Target: m.Target}
	ladder.Target.Absolute = 1
	top, err := noisereduction.TopFor(ladder)
	if err != nil {
		t.Fatal(err)
	}
	events := float64(m.MaxEventsPerKey)
	c.Metrics[0].Target.Absolute = (1 + 1e-9) * events * math.Sqrt(float64(windows*m.MaxKeysPerUser)*top.Float()) /
		d.Budget.Mu2.Mu()
}

// Logger returns a logger that writes warnings and errors to a buffer.
func Logger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// PEMFiles holds the paths of a certificate for 127.0.0.1, of its key, and of unusable files.
type PEMFiles struct {
	Dir       string // directory of all files
	Cert, Key string
	OtherKey  string // key of another certificate
	Encrypted string // an encrypted key
	Text      string // a file without a PEM block
	Gone      string // a file that does not exist
}

// PEM encodes a certificate.
func PEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// WritePEM writes the PEMFiles to a temporary directory of the test.
func WritePEM(t *testing.T) PEMFiles {
	t.Helper()
	f := PEMFiles{Dir: t.TempDir()}
	put := func(name string, data []byte) string {
		file := filepath.Join(f.Dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	newKey := func() (*ecdsa.PrivateKey, []byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return key, der
	}
	key, keyDER := newKey()
	_, otherDER := newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	f.Cert, f.Key = put("cert.pem", PEM(der)), put("key.pem", block("PRIVATE KEY", keyDER))
	f.OtherKey = put("other-key.pem", block("PRIVATE KEY", otherDER))
	f.Encrypted = put("encrypted.pem", block("ENCRYPTED PRIVATE KEY", keyDER))
	f.Text, f.Gone = put("notes.txt", []byte("nothing")), filepath.Join(f.Dir, "gone.pem")
	return f
}

// Start starts an embedded broker that is closed when the test ends.
func Start(t testing.TB) *embedded.Broker {
	t.Helper()
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	return broker
}
