package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Dial connects to the brokers of a configuration. A nil logger means no log. Errors:
// *deployment.ConfigError for invalid security settings; kafkalog.ErrUnreachable and
// kafkalog.ErrRefused, which say what to check.
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

// Config returns the configuration of the Kafka client. It reads the files that the TLS and SASL
// settings name, as the client does for every connection. Errors: *deployment.ConfigError.
func Config(k *deployment.Kafka, logger *slog.Logger) (kafkalog.Config, error) {
	cfg := kafkalog.Config{Brokers: k.Brokers, ClientID: "tollgate", Logger: logger}
	if err := k.Check(); err != nil {
		return cfg, err
	}
	if t := k.TLS; t != nil {
		current, err := newReloaded(func() (*tls.Config, error) { return loadTLS(t) }, logger)
		if err != nil {
			return cfg, err
		}
		cfg.TLS, cfg.RenewTLS = current.last.Reveal(), current.get
		cfg.CAFile, cfg.CertFile = t.CAFile, t.CertFile
		cfg.MayChange = t.CAFile+t.CertFile != ""
	}
	if s := k.SASL; s != nil {
		var err error
		if cfg.SASL, err = mechanism(s, logger); err != nil {
			return cfg, err
		}
		cfg.MayChange = cfg.MayChange || s.PasswordFile+s.TokenFile+s.TokenURL.Reveal() != ""
	}
	return cfg, nil
}
