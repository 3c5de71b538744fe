package pipeline

import (
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Config describes a deployment. The zero value of a field takes the default
// that its comment names.
type Config struct {
	// Deployment prefixes the transactional ids that fence writers; two
	// deployments on one cluster need different ones. Default "tollgate".
	Deployment string
	Kafka      Kafka
	Events     Events
	Privacy    Privacy
	Time       Time
	Metrics    []Metric
	Outputs    Outputs
	Keys       SecretKeys
	// Shards is the number of account shards, and of the ledger's partitions:
	// 1 to 4096, default 16. ReleaseShards is the number of partitions of the
	// counts topic: default 1. LedgerSlots is after how many turns a ledger
	// slot is used again: 4 or more, default 64.
	Shards, ReleaseShards, LedgerSlots int
}

// Kafka says where the brokers are.
type Kafka struct {
	Brokers []string // host:port
}

// Events says what is read.
type Events struct {
	Topic  string
	Format schemas.EventFormat
}

// Privacy is the promise: (Epsilon, Delta) for every user, over everything that
// the deployment ever releases.
type Privacy struct {
	Epsilon float64 // above 0
	Delta   float64 // between 0 and 1
	// DeltaKeys is the part of Delta that private keys may spend; default
	// Delta/10 when a metric has private keys, else 0.
	DeltaKeys  float64
	Accountant string // gdp (default), zcdp or rdp
}

// Time says whose clock decides, and how much disorder is on time.
type Time struct {
	// Trust is "broker" (default: append times; the topic must have them) or
	// "producer" (the promise then depends on sane producers).
	Trust string
	// Lateness is how far behind its append time an event may be. Skew is how
	// far ahead. Slack is the clock step below which a record's own times
	// alone decide: default 5 s with broker times, always 0 with producer
	// times. IdleGrace is how long a partition must be silent before the wall
	// clock moves it on: default 60 s.
	Lateness, Skew, Slack, IdleGrace time.Duration
	// NoFuture turns the test for events of the future off: for files.
	NoFuture bool
}

// Time trusts.
const (
	TrustBroker   = "broker"
	TrustProducer = "producer"
)

// Metric is one count per window and key.
type Metric struct {
	Name   string
	Kind   string        // "events" (default)
	Window time.Duration // whole milliseconds; windows start at multiples of it since the Unix epoch
	Keys   Keys
	// MaxKeysPerUser and MaxEventsPerKey bound what one user can contribute to
	// one window; defaults 1 and 1. Noise does not depend on them.
	MaxKeysPerUser, MaxEventsPerKey int
	Ladder                          Ladder
	Target                          noisereduction.Target
	// Share is the part of the budget that the metric may use; default: equal
	// parts. LastAtLeast is the number of windows that every user can take
	// part in, however much they contribute within the bounds.
	Share       float64
	LastAtLeast int
}

// Keys says which keys are released.
type Keys struct {
	Mode string   // "public" (released at zero and in empty windows, too) or "private"
	List []string // the public keys
}

// Key modes.
const (
	KeysPublic  = "public"
	KeysPrivate = "private"
)

// Ladder is the sequence of precisions that a release climbs.
type Ladder struct {
	Kind   string  // "adaptive" (default) or "geometric"
	Factor float64 // step of a geometric ladder; default 2
	// Sigma, when set, is the standard deviation at the top: an explicit cap
	// per window in place of LastAtLeast.
	Sigma float64
	// FirstSigma, when set, is the standard deviation of the first rung. Else
	// ExpectedMax, the largest count expected, sets it for public keys; else
	// the default of docs/configuration.
	FirstSigma  float64
	ExpectedMax float64
}

// Outputs names the deployment's own topics.
type Outputs struct {
	Counts, Control, Ledger, DeadLetter string // defaults: deployment-counts and so on
}

// SecretKeys are the deployment's keys: 256 random bits each.
type SecretKeys struct {
	Noise    []noisereduction.NoiseKey // one, from turn 1
	UserHash [32]byte
}

// ConfigError says which field of a configuration cannot be, and why.
type ConfigError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }

func invalid(field, format string, args ...any) error {
	return &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

func (c Config) withDefaults() Config {
	def(&c.Deployment, "tollgate")
	def(&c.Privacy.Accountant, "gdp")
	def(&c.Time.Trust, TrustBroker)
	def(&c.Outputs.Counts, c.Deployment+"-counts")
	def(&c.Outputs.Control, c.Deployment+"-control")
	def(&c.Outputs.Ledger, c.Deployment+"-ledger")
	def(&c.Outputs.DeadLetter, c.Deployment+"-dead-letter")
	def(&c.Shards, 16)
	def(&c.ReleaseShards, 1)
	def(&c.LedgerSlots, 64)
	def(&c.Time.IdleGrace, time.Minute)
	if c.Time.Trust == TrustBroker {
		def(&c.Time.Slack, 5*time.Second)
	}
	metrics := make([]Metric, len(c.Metrics))
	copy(metrics, c.Metrics)
	for i := range metrics {
		m := &metrics[i]
		def(&m.Kind, "events")
		def(&m.MaxKeysPerUser, 1)
		def(&m.MaxEventsPerKey, 1)
		def(&m.Ladder.Kind, "adaptive")
		def(&m.Ladder.Factor, 2)
		def(&m.Keys.Mode, KeysPrivate)
	}
	c.Metrics = metrics
	return c
}

func def[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}
