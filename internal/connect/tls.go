package connect

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// loadTLS reads the TLS files.
func loadTLS(t *deployment.TLS) (*tls.Config, error) {
	cfg := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	var err error
	if cfg.RootCAs, err = authorities("Kafka.TLS.CAFile", t.CAFile); err != nil {
		return nil, err
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

// authorities reads CA certificates from a file; "" gives nil, which means the system's.
func authorities(field, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readPEM(field, file, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, deployment.Invalid(field, "%s contains no certificate that Tollgate can read", file)
	}
	return pool, nil
}

// certificate reads the client's certificate and key. Its errors never quote the key file, because
// crypto/tls mentions only formats.
func certificate(t *deployment.TLS) (tls.Certificate, error) {
	cert, err := readPEM("Kafka.TLS.CertFile", t.CertFile, "CERTIFICATE")
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM("Kafka.TLS.KeyFile", t.KeyFile, "PRIVATE KEY")
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, deployment.Invalid("Kafka.TLS.KeyFile",
			"%s and the certificate %s do not belong together: %v", t.KeyFile, t.CertFile, err)
	}
	return pair, nil
}

// readPEM reads a file that must contain a PEM block whose type ends in kind.
func readPEM(field, file, kind string) ([]byte, error) {
	data, err := readFile(field, file)
	if err != nil {
		return nil, err
	}
	for rest := data; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, deployment.Invalid(field, "%s has no PEM block %q", file, kind)
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, deployment.Invalid(field,
				"the private key in %s is encrypted: remove its passphrase, and let only this program read the file",
				file)
		case strings.HasSuffix(block.Type, kind):
			return data, nil
		}
	}
}
