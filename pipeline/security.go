package pipeline

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/tollgate-dp/tollgate/internal/klog"
)

// Dial connects to the brokers of a configuration. Errors: *ConfigError for what the configuration says about security and
// cannot be, klog.ErrUnreachable and klog.ErrRefused with what to check.
func Dial(ctx context.Context, k Kafka, logger *slog.Logger) (*klog.Client, error) {
	cfg, err := k.client(logger)
	if err != nil {
		return nil, err
	}
	client, err := klog.Dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to Kafka: %w", err)
	}
	return client, nil
}

// client is the configuration of the Kafka client: it reads the files that TLS names.
func (k *Kafka) client(logger *slog.Logger) (klog.Config, error) {
	cfg := klog.Config{Brokers: k.Brokers, ClientID: "tollgate", Logger: logger}
	if err := k.checkBrokers(); err != nil {
		return cfg, err
	}
	if err := k.checkSecurity(); err != nil {
		return cfg, err
	}
	var err error
	if cfg.TLS, err = k.TLS.load(); err != nil {
		return cfg, err
	}
	if k.TLS != nil {
		cfg.CAFile, cfg.CertFile = k.TLS.CAFile, k.TLS.CertFile
	}
	cfg.SASL, err = k.SASL.mechanism()
	return cfg, err
}

// SASL mechanisms.
const (
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
)

// checkBrokers refuses what cannot be the address of a broker.
func (k *Kafka) checkBrokers() error {
	for i, address := range k.Brokers {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" {
			return invalid(fmt.Sprintf("kafka.brokers[%d]", i), "%q is not host:port, as in localhost:9092", address)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return invalid(fmt.Sprintf("kafka.brokers[%d]", i), "the port in %q must be 1 to 65535", address)
		}
	}
	return nil
}

// checkSecurity refuses what cannot be, without looking at files.
func (k *Kafka) checkSecurity() error {
	if t := k.TLS; t != nil {
		switch {
		case t.CertFile != "" && t.KeyFile == "":
			return invalid("kafka.tls.key", "the client certificate %s needs its private key", t.CertFile)
		case t.KeyFile != "" && t.CertFile == "":
			return invalid("kafka.tls.cert", "the private key %s needs its certificate", t.KeyFile)
		}
	}
	if s := k.SASL; s != nil {
		switch strings.ToLower(s.Mechanism) {
		case SASLPlain, SASLScramSHA256, SASLScramSHA512:
		case "":
			return invalid("kafka.sasl.mechanism", "it is missing: %s, %s or %s", SASLPlain, SASLScramSHA256, SASLScramSHA512)
		default:
			return invalid("kafka.sasl.mechanism", "%q is none of %s, %s and %s", s.Mechanism, SASLPlain, SASLScramSHA256, SASLScramSHA512)
		}
		switch {
		case s.User == "":
			return invalid("kafka.sasl.user", "it is missing: %s needs a user", s.Mechanism)
		case s.Password == "":
			return invalid("kafka.sasl.password", "it is missing for user %q", s.User)
		}
	}
	return nil
}

// load reads the files; nil for a nil TLS.
func (t *TLS) load() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	cfg := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		data, err := readPEM("kafka.tls.ca", t.CAFile, "CERTIFICATE")
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(data) {
			return nil, invalid("kafka.tls.ca", "%s holds no certificate that can be read", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := t.certificate()
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

// certificate is the client's. Texts about the key's file never quote it: crypto/tls names formats only.
func (t *TLS) certificate() (tls.Certificate, error) {
	cert, err := readPEM("kafka.tls.cert", t.CertFile, "CERTIFICATE")
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM("kafka.tls.key", t.KeyFile, "PRIVATE KEY")
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, invalid("kafka.tls.key", "%s and the certificate %s do not make a pair: %v", t.KeyFile, t.CertFile, err)
	}
	return pair, nil
}

// readPEM reads a file that must hold a PEM block of a type that ends in kind.
func readPEM(field, file, kind string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the name stands in the text already
		}
		return nil, invalid(field, "reading %s: %v", file, err)
	}
	for rest := data; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, invalid(field, "%s holds no PEM block %q", file, kind)
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, invalid(field, "the private key in %s is encrypted: give it without a passphrase, readable by this program alone", file)
		case strings.HasSuffix(block.Type, kind):
			return data, nil
		}
	}
}

// mechanism is nil for a nil SASL.
func (s *SASL) mechanism() (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil
	}
	algorithm := scram.SHA256
	switch strings.ToLower(s.Mechanism) {
	case SASLPlain:
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case SASLScramSHA512:
		algorithm = scram.SHA512
	}
	m, err := scram.Mechanism(algorithm, s.User, s.Password)
	if err != nil {
		return nil, invalid("kafka.sasl.user", "user %q or its password has characters that %s cannot carry", s.User, s.Mechanism)
	}
	return namedMechanism{m, s.User}, nil
}

// namedMechanism tells the client the user's name for its error texts.
type namedMechanism struct {
	sasl.Mechanism
	user string
}

// User implements klog.Named.
func (m namedMechanism) User() string { return m.user }

// String keeps the password out of logs that print a configuration.
func (s SASL) String() string {
	return fmt.Sprintf("{%s %s}", s.Mechanism, s.User)
}

// GoString is String for %#v.
func (s SASL) GoString() string { return s.String() }
