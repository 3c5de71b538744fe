package kafkalog

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/segmentio/kafka-go/sasl"
)

// Config configures the connection to a cluster. Only Brokers must be set.
type Config struct {
	Brokers  []string       // each host:port; tried in this order
	ClientID string         // default "tollgate"
	TLS      *tls.Config    // nil: plaintext
	SASL     sasl.Mechanism // nil: no authentication
	Logger   *slog.Logger   // nil: no log

	// RenewTLS returns the TLS configuration of the next connection, for certificates that change.
	// If it is nil, TLS never changes.
	RenewTLS func() *tls.Config
	// MayChange means that certificates or passwords may change. Brokers may learn of a change
	// before or after this client, so the client retries a broker that refuses it but accepted it
	// before.
	MayChange bool

	// CAFile and CertFile are the names of the TLS files, which appear in error messages.
	CAFile, CertFile string

	// MaxBatchBytes limits the size of a record batch; 0 means DefaultBatchBytes.
	MaxBatchBytes int
	// RetryFor is how long a call waits for a cluster that does not respond or has no leader. 0
	// means two minutes.
	RetryFor time.Duration

	waits waits
}

// DefaultBatchBytes is below the default max.message.bytes of a broker (1,048,588).
const DefaultBatchBytes = 1_000_000

func (cfg Config) withDefaults() (Config, error) {
	if len(cfg.Brokers) == 0 {
		return cfg, errors.New("dialing Kafka: no broker address is set")
	}
	for _, addr := range cfg.Brokers {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return cfg, fmt.Errorf("dialing Kafka: broker address %q is not host:port: %w", addr, err)
		}
	}
	cfg.ClientID = cmp.Or(cfg.ClientID, "tollgate")
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.MaxBatchBytes = cmp.Or(cfg.MaxBatchBytes, DefaultBatchBytes)
	cfg.RetryFor = cmp.Or(cfg.RetryFor, 2*time.Minute)
	cfg.waits = cmp.Or(cfg.waits, waits{dial: dialTimeout, request: requestTimeout, silent: silentAfter})
	return cfg, nil
}
