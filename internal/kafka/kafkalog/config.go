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

// Config says how to reach a cluster. The zero value of every field but Brokers is usable.
type Config struct {
	Brokers  []string       // host:port, tried in order
	ClientID string         // default "tollgate"
	TLS      *tls.Config    // nil: plaintext
	SASL     sasl.Mechanism // nil: no authentication
	Logger   *slog.Logger   // nil: no log

	// RenewTLS returns the TLS of a connection that is about to be made, for certificates that
	// change while the client lives; TLS is then only what error texts look at. nil: TLS stays.
	RenewTLS func() *tls.Config
	// MayChange says that what brokers are shown may change, by RenewTLS or by a mechanism of SASL
	// that reads its secret anew. Brokers take up a change earlier or later than this side: one
	// that has let the client in before, and refuses it now, is asked again for RetryFor.
	MayChange bool

	// CAFile and CertFile are the names of the files from which TLS was made, for error texts; they
	// are not opened here.
	CAFile, CertFile string

	// MaxBatchBytes bounds a record batch that a Producer makes, in bytes. Default 1,000,000, which
	// is below the default max.message.bytes of a broker (1,048,588).
	MaxBatchBytes int
	// RetryFor bounds how long a call waits for a cluster that does not answer or has no leader.
	// Default 2 min.
	RetryFor time.Duration

	waits waits
}

// DefaultBatchBytes is the default of Config.MaxBatchBytes.
const DefaultBatchBytes = 1_000_000

const defaultRetryFor = 2 * time.Minute

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
	if cfg.MaxBatchBytes <= 0 {
		cfg.MaxBatchBytes = DefaultBatchBytes
	}
	if cfg.RetryFor <= 0 {
		cfg.RetryFor = defaultRetryFor
	}
	if cfg.waits == (waits{}) {
		cfg.waits = waits{dial: dialTimeout, request: requestTimeout, silent: silentAfter}
	}
	return cfg, nil
}
