package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Dial connects to the brokers of a configuration; a nil logger discards. Errors:
// *deployment.ConfigError for invalid security settings, kafkalog.ErrUnreachable and
// kafkalog.ErrRefused with what to check.
func Dial(ctx context.Context, k deployment.Kafka, logger *slog.Logger) (*kafkalog.Client, error) {
	cfg, err := Config(&k, logger)
	if err != nil {
		return nil, err
	}
	client, err := kafkalog.Dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to Kafka: %w", err)
	}
	return client, nil
}

// Config returns the configuration of the Kafka client. It reads the files that TLS names.
// Errors: *deployment.ConfigError.
func Config(k *deployment.Kafka, logger *slog.Logger) (kafkalog.Config, error) {
	cfg := kafkalog.Config{Brokers: k.Brokers, ClientID: "tollgate", Logger: logger}
	if err := k.Check(); err != nil {
		return cfg, err
	}
	var err error
	if cfg.TLS, err = loadTLS(k.TLS); err != nil {
		return cfg, err
	}
	if k.TLS != nil {
		cfg.CAFile, cfg.CertFile = k.TLS.CAFile, k.TLS.CertFile
	}
	cfg.SASL, err = mechanism(k.SASL)
	return cfg, err
}

// loadTLS reads the files; nil for a nil TLS.
func loadTLS(t *deployment.TLS) (*tls.Config, error) {
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
			return nil, deployment.Invalid("kafka.tls.ca", "%s holds no certificate that can be read", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := certificate(t)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

// certificate reads the client's certificate and key. Error texts never quote the key's file:
// crypto/tls names formats only.
func certificate(t *deployment.TLS) (tls.Certificate, error) {
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
		return tls.Certificate{}, deployment.Invalid("kafka.tls.key", "%s and the certificate %s do not make a pair: %v", t.KeyFile, t.CertFile, err)
	}
	return pair, nil
}

// readPEM reads a file that must hold a PEM block of a type that ends in kind.
func readPEM(field, file, kind string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the text has the name already
		}
		return nil, deployment.Invalid(field, "reading %s: %v", file, err)
	}
	for rest := data; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, deployment.Invalid(field, "%s holds no PEM block %q", file, kind)
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, deployment.Invalid(field, "the private key in %s is encrypted: give it without a passphrase, readable by this program alone", file)
		case strings.HasSuffix(block.Type, kind):
			return data, nil
		}
	}
}

// mechanism returns how to authenticate; nil for a nil SASL.
func mechanism(s *deployment.SASL) (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil
	}
	algorithm := scram.SHA256
	switch strings.ToLower(s.Mechanism) {
	case deployment.SASLPlain:
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case deployment.SASLScramSHA512:
		algorithm = scram.SHA512
	}
	m, err := scram.Mechanism(algorithm, s.User, s.Password)
	if err != nil {
		return nil, deployment.Invalid("kafka.sasl.user", "user %q or its password has characters that %s cannot carry", s.User, s.Mechanism)
	}
	return namedMechanism{m, s.User}, nil
}

// namedMechanism tells the client the user's name for its error texts.
type namedMechanism struct {
	sasl.Mechanism
	user string
}

// User implements kafkalog.Named.
func (m namedMechanism) User() string { return m.user }
