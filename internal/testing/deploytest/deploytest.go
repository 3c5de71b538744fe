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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/embedded"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func AsSum(change func(m *deployment.Metric)) func(c *deployment.Config) {
	return func(c *deployment.Config) {
		c.Events.Format.Value = "price"
		m := &c.Metrics[0]
		m.Kind, m.Max, m.Target.Relative, m.MaxEventsPerKey = "sum", 100, 0.1, 2
		change(m)
	}
}

func Config(addr string) deployment.Config {
	return deployment.Config{
		Kafka:   deployment.Kafka{Brokers: []string{addr}},
		Events:  deployment.Events{Topic: "events", Format: event.Format{Format: "jsonl", User: "user", Key: "key", Time: "time", TimeUnit: "ms"}},
		Privacy: deployment.Privacy{Epsilon: 1, Delta: 1e-6},
		Time:    deployment.Time{Trust: deployment.TrustProducer, NoFuture: true},
		Metrics: []deployment.Metric{{
			Name: "views", Window: time.Minute, Keys: deployment.Keys{Mode: deployment.KeysPublic, List: []string{"a", "b", "c"}},
			MaxKeysPerUser: 2, MaxEventsPerKey: 3, LastAtLeast: 5,
			Target: noisereduction.Target{Relative: 0.05, Confidence: 0.95},
		}},
		Keys:   deployment.SecretKeys{Noise: []noisereduction.NoiseKey{{ID: "k1", Secret: [32]byte{1}}}, UserHash: [32]byte{2}},
		Shards: 4,
	}
}

// Logger collects what a run warns of.
func Logger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// PEMFiles are a self-signed certificate of 127.0.0.1 with its key, and files that are wrong in
// some way.
type PEMFiles struct {
	Dir        string
	Cert, Key  string
	OtherKey   string
	Encrypted  string
	Text, Gone string
}

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
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	f.Cert, f.Key = put("cert.pem", block("CERTIFICATE", der)), put("key.pem", block("PRIVATE KEY", keyDER))
	f.OtherKey = put("other-key.pem", block("PRIVATE KEY", otherDER))
	f.Encrypted = put("encrypted.pem", block("ENCRYPTED PRIVATE KEY", keyDER))
	f.Text, f.Gone = put("notes.txt", []byte("nothing")), filepath.Join(f.Dir, "gone.pem")
	return f
}

func Start(t testing.TB) *embedded.Broker {
	t.Helper()
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	return broker
}
