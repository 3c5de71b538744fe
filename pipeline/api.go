package pipeline

import (
	"context"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
)

// What a deployment is, and its parts: see package deployment, which has the fields.
type (
	// Config describes a deployment.
	Config = deployment.Config
	// Kafka says where the brokers are and how to talk to them.
	Kafka = deployment.Kafka
	// TLS names PEM files.
	TLS = deployment.TLS
	// SASL is how clients authenticate.
	SASL = deployment.SASL
	// Events says what is read.
	Events = deployment.Events
	// Registry is a schema registry that speaks Confluent's API.
	Registry = deployment.Registry
	// Privacy is the promise to every user.
	Privacy = deployment.Privacy
	// Time says whose clock decides, and how much disorder is on time.
	Time = deployment.Time
	// Metric is one count per window and key.
	Metric = deployment.Metric
	// Keys says which keys are released.
	Keys = deployment.Keys
	// Coverage is the count of admitted users of a metric's window.
	Coverage = deployment.Coverage
	// Ladder is the sequence of precisions of a release.
	Ladder = deployment.Ladder
	// Outputs names the deployment's own topics, and says when counts appear.
	Outputs = deployment.Outputs
	// SecretKeys are the deployment's keys.
	SecretKeys = deployment.SecretKeys
	// Deployment is a configuration that has been checked, and what was computed from it.
	Deployment = deployment.Deployment
	// CompiledMetric is a metric with everything that was computed for it.
	CompiledMetric = deployment.CompiledMetric
	// ConfigError says which field of a configuration cannot be, and why.
	ConfigError = deployment.ConfigError
	// TopicError says what is wrong with a topic and how to put it right.
	TopicError = deployment.TopicError
)

// Values of Config's fields.
const (
	TrustBroker     = deployment.TrustBroker
	TrustProducer   = deployment.TrustProducer
	KeysPublic      = deployment.KeysPublic
	KeysPrivate     = deployment.KeysPrivate
	KeysFrom        = deployment.KeysFrom
	SASLPlain       = deployment.SASLPlain
	SASLScramSHA256 = deployment.SASLScramSHA256
	SASLScramSHA512 = deployment.SASLScramSHA512
)

// What a deployment refuses, and why a run ends: see package deployment.
var (
	ErrNotInitialised  = deployment.ErrNotInitialised
	ErrInitialised     = deployment.ErrInitialised
	ErrHeaderMismatch  = deployment.ErrHeaderMismatch
	ErrStopped         = deployment.ErrStopped
	ErrConflict        = deployment.ErrConflict
	ErrInterruptedTurn = deployment.ErrInterruptedTurn
	ErrLogFault        = deployment.ErrLogFault
	ErrPromiseWeakened = deployment.ErrPromiseWeakened
	ErrTopicSettings   = deployment.ErrTopicSettings
	ErrStrict          = deployment.ErrStrict
	ErrNoBroker        = deployment.ErrNoBroker
	ErrStuck           = deployment.ErrStuck
)

// Compile checks a configuration and computes budget, ladders and digests. Errors: *ConfigError
// names the field.
func Compile(cfg Config) (*Deployment, error) { return deployment.Compile(cfg) }

// Dial connects to the brokers of a configuration. Errors: *ConfigError for security settings that
// cannot be, kafkalog.ErrUnreachable and kafkalog.ErrRefused with what to check.
func Dial(ctx context.Context, k Kafka, logger *slog.Logger) (*kafkalog.Client, error) {
	return connect.Dial(ctx, k, logger)
}
