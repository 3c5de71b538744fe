package pipeline

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tollgate-dp/tollgate/internal/klog"
)

// pemFiles are a self-signed certificate of 127.0.0.1 with its key, and files that are wrong in some way.
type pemFiles struct {
	dir        string
	cert, key  string
	otherKey   string
	encrypted  string
	text, gone string
}

func writePEM(t *testing.T) pemFiles {
	t.Helper()
	f := pemFiles{dir: t.TempDir()}
	put := func(name string, data []byte) string {
		file := filepath.Join(f.dir, name)
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
	f.cert, f.key = put("cert.pem", block("CERTIFICATE", der)), put("key.pem", block("PRIVATE KEY", keyDER))
	f.otherKey = put("other-key.pem", block("PRIVATE KEY", otherDER))
	f.encrypted = put("encrypted.pem", block("ENCRYPTED PRIVATE KEY", keyDER))
	f.text, f.gone = put("notes.txt", []byte("nothing")), filepath.Join(f.dir, "gone.pem")
	return f
}

func TestWhatIsWrongWithSecurityIsSaidByField(t *testing.T) {
	f := writePEM(t)
	for _, tt := range []struct {
		name string
		k    Kafka
		says string // DIR stands for the directory
	}{
		{"CA file is not there", Kafka{TLS: &TLS{CAFile: f.gone}}, "kafka.tls.ca: reading DIR/gone.pem: no such file or directory"},
		{"CA file is a directory", Kafka{TLS: &TLS{CAFile: f.dir}}, "kafka.tls.ca: reading DIR: is a directory"},
		{"CA file is no PEM", Kafka{TLS: &TLS{CAFile: f.text}}, `kafka.tls.ca: DIR/notes.txt holds no PEM block "CERTIFICATE"`},
		{"CA file is a key", Kafka{TLS: &TLS{CAFile: f.key}}, `kafka.tls.ca: DIR/key.pem holds no PEM block "CERTIFICATE"`},
		{"certificate without key", Kafka{TLS: &TLS{CertFile: f.cert}}, "kafka.tls.key: the client certificate DIR/cert.pem needs its private key"},
		{"key without certificate", Kafka{TLS: &TLS{KeyFile: f.key}}, "kafka.tls.cert: the private key DIR/key.pem needs its certificate"},
		{"certificate is a key", Kafka{TLS: &TLS{CertFile: f.key, KeyFile: f.key}}, `kafka.tls.cert: DIR/key.pem holds no PEM block "CERTIFICATE"`},
		{"key is a certificate", Kafka{TLS: &TLS{CertFile: f.cert, KeyFile: f.cert}}, `kafka.tls.key: DIR/cert.pem holds no PEM block "PRIVATE KEY"`},
		{"key of another certificate", Kafka{TLS: &TLS{CertFile: f.cert, KeyFile: f.otherKey}}, "kafka.tls.key: DIR/other-key.pem and the certificate DIR/cert.pem do not make a pair: tls: private key does not match public key"},
		{"encrypted key", Kafka{TLS: &TLS{CertFile: f.cert, KeyFile: f.encrypted}}, "kafka.tls.key: the private key in DIR/encrypted.pem is encrypted: give it without a passphrase, readable by this program alone"},
		{"no mechanism", Kafka{SASL: &SASL{User: "u", Password: "s3cret"}}, "kafka.sasl.mechanism: it is missing: plain, scram-sha-256 or scram-sha-512"},
		{"another mechanism", Kafka{SASL: &SASL{Mechanism: "gssapi", User: "u", Password: "s3cret"}}, `kafka.sasl.mechanism: "gssapi" is none of plain, scram-sha-256 and scram-sha-512`},
		{"no user", Kafka{SASL: &SASL{Mechanism: "plain", Password: "s3cret"}}, "kafka.sasl.user: it is missing: plain needs a user"},
		{"no password", Kafka{SASL: &SASL{Mechanism: "plain", User: "u"}}, `kafka.sasl.password: it is missing for user "u"`},
		{"a password that SCRAM cannot carry", Kafka{SASL: &SASL{Mechanism: "scram-sha-512", User: "u", Password: "s3cret\x00"}}, `kafka.sasl.user: user "u" or its password has characters that scram-sha-512 cannot carry`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.k.Brokers = []string{"127.0.0.1:1"}
			_, err := Dial(t.Context(), tt.k, nil)
			var wrong *ConfigError
			if !errors.As(err, &wrong) || strings.ReplaceAll(err.Error(), f.dir, "DIR") != tt.says {
				t.Errorf("%v\nis not\n%s", err, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}

func TestDialSpeaksTLSAndSASLAsConfigured(t *testing.T) {
	f := writePEM(t)
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	data, err := os.ReadFile(f.cert)
	if err != nil || !pool.AppendCertsFromPEM(data) {
		t.Fatal("reading the certificate")
	}
	start := func(opts ...kfake.Opt) []string {
		cluster, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		return cluster.ListenAddrs()
	}
	mutual := start(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}))
	both := start(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}), kfake.EnableSASL(),
		kfake.Superuser("PLAIN", "alice", "s3cret"), kfake.Superuser("SCRAM-SHA-256", "bob", "s3cret"), kfake.Superuser("SCRAM-SHA-512", "carol", "s3cret"))
	ca := &TLS{CAFile: f.cert}
	for _, tt := range []struct {
		name string
		k    Kafka
		is   error // nil: it works
		says string
	}{
		{"mutual TLS", Kafka{Brokers: mutual, TLS: &TLS{CAFile: f.cert, CertFile: f.cert, KeyFile: f.key}}, nil, ""},
		{"TLS and PLAIN", Kafka{Brokers: both, TLS: ca, SASL: &SASL{"plain", "alice", "s3cret"}}, nil, ""},
		{"TLS and SCRAM-SHA-256", Kafka{Brokers: both, TLS: ca, SASL: &SASL{"scram-sha-256", "bob", "s3cret"}}, nil, ""},
		{"TLS and SCRAM-SHA-512", Kafka{Brokers: both, TLS: ca, SASL: &SASL{"SCRAM-SHA-512", "carol", "s3cret"}}, nil, ""},
		{"wrong password", Kafka{Brokers: both, TLS: ca, SASL: &SASL{"scram-sha-256", "bob", "s3cret2"}}, klog.ErrRefused, `authentication of user "bob" with mechanism SCRAM-SHA-256 failed: are user and password right?`},
		{"SASL is missing", Kafka{Brokers: both, TLS: ca}, klog.ErrRefused, "is SASL missing in the configuration?"},
		{"the authority is not known", Kafka{Brokers: both, TLS: &TLS{}, SASL: &SASL{"plain", "alice", "s3cret"}}, klog.ErrRefused, "signed by an unknown authority: no CA file is set, is one needed?"},
		{"the certificate is missing", Kafka{Brokers: mutual, TLS: ca}, klog.ErrRefused, "the broker wants a client certificate, and none is set"},
		{"another host name", Kafka{Brokers: both, TLS: &TLS{CAFile: f.cert, ServerName: "elsewhere"}}, klog.ErrRefused, "is for another host name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, err := Dial(t.Context(), tt.k, nil)
			if err == nil {
				client.Close()
			}
			if !errors.Is(err, tt.is) {
				t.Fatalf("%v, want %v", err, tt.is)
			}
			if tt.is != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%v does not say %q", err, tt.says)
			}
		})
	}
}

func TestAPrintedConfigurationHasNoPassword(t *testing.T) {
	s := SASL{Mechanism: "plain", User: "alice", Password: "s3cret"}
	for _, v := range []any{s, &s, Kafka{SASL: &s}, struct{ SASL SASL }{s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "s3cret") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
}
