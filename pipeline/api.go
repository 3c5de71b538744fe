package pipeline

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// The parts of a deployment. Package deployment documents their fields, with units, ranges and
// defaults; docs/configuration.md lists them under their names in a configuration file.
type (
	// Config describes a deployment: brokers, events, privacy, times, metrics, topics and keys.
	// Compile checks it. A zero field takes its default, if it has one.
	Config = deployment.Config
	// Kafka contains the brokers' addresses and the settings of the connection.
	Kafka = deployment.Kafka
	// TLS names the PEM files of connections to brokers.
	TLS = deployment.TLS
	// SASL describes how clients authenticate to brokers. It prints passwords redacted.
	SASL = deployment.SASL
	// Events names the topic that is read and describes its records.
	Events = deployment.Events
	// Registry is a schema registry that speaks Confluent's API, for Avro events.
	Registry = deployment.Registry
	// Privacy is the promise to every user: (ε, δ) over everything that the deployment ever
	// releases, or over one budget period.
	Privacy = deployment.Privacy
	// Time sets whose clock decides, and how late or how far in the future events may be.
	Time = deployment.Time
	// Metric defines a count that is released for every window and key: its kind, windows, keys,
	// bounds, ladder, target and share of the budget.
	Metric = deployment.Metric
	// Keys selects the keys that a metric releases.
	Keys = deployment.Keys
	// Counted requests a release of the share of a metric's events that is counted in each window.
	Counted = deployment.Counted
	// Statistics selects the quantiles, or the shares of a histogram, that a metric releases.
	Statistics = deployment.Statistics
	// Ladder is the sequence of precisions that a release goes through.
	Ladder = deployment.Ladder
	// Outputs names the deployment's own topics, and sets the format and time of publication.
	Outputs = deployment.Outputs
	// SecretKeys are the deployment's keys, for noise and for the hashes of user ids.
	SecretKeys = deployment.SecretKeys

	// Format describes the records of the events topic.
	Format = event.Format
	// Target is the accuracy that ends a release.
	Target = noisereduction.Target
	// NoiseKey is a noise key with its id.
	NoiseKey = noisereduction.NoiseKey

	// Deployment is a checked configuration with the numbers computed from it. It is read-only and
	// safe for concurrent use.
	Deployment = deployment.Deployment
	// Record lists the deployments that began under the keys of a configuration, as Beginnings.
	Record    = deployment.Record
	Beginning = deployment.Beginning

	// Difference is a setting whose configured value differs from the value in force.
	Difference = deployment.Difference
	// Value is a field with its value in force and its configured value.
	Value = deployment.Value

	// ConfigError reports an invalid field of a configuration and the reason.
	ConfigError = deployment.ConfigError
	// TopicError describes a fault of a topic and its repair. It is always an ErrTopicSettings.
	TopicError = deployment.TopicError
)

// Values of Time.Trust.
const (
	// TrustBroker is the default: the broker's append times decide.
	TrustBroker = deployment.TrustBroker
	// TrustProducer lets the producers' times decide, which is a weaker promise.
	TrustProducer = deployment.TrustProducer
)

// Values of Keys.Mode.
const (
	// KeysPublic releases the listed keys, in every window and also at zero.
	KeysPublic = deployment.KeysPublic
	// KeysPrivate releases the keys whose noisy counts pass a threshold.
	KeysPrivate = deployment.KeysPrivate
	// KeysFrom releases the keys that another metric has released.
	KeysFrom = deployment.KeysFrom
	// ScaleLinear is the default. All parts of the range, or all buckets, have the same width.
	ScaleLinear = deployment.ScaleLinear
	// ScaleLogarithmic makes the parts, or the buckets, of greater values wider.
	ScaleLogarithmic = deployment.ScaleLogarithmic
)

// Errors of calls on a deployment, for errors.Is. docs/runbook.md explains what to do about each.
var (
	// ErrNotInitialised means that the control topic has no HEADER: call Init first.
	ErrNotInitialised = deployment.ErrNotInitialised
	// ErrInitialised means that the control topic already has a HEADER.
	ErrInitialised = deployment.ErrInitialised
	// ErrOtherPromise means that the record kept with the keys does not list the deployment on the
	// brokers, or lists a deployment whose control topic has lost it.
	ErrOtherPromise = deployment.ErrOtherPromise
	// ErrHeaderMismatch means that the configuration is not the one in force. Restore the old
	// values, or call Change if the error message allows it.
	ErrHeaderMismatch = deployment.ErrHeaderMismatch
	// ErrStopped means that the deployment has stopped itself and nobody has called Recover since.
	ErrStopped = deployment.ErrStopped
	// ErrConflict means that a published value differs from the value recomputed from the topics.
	ErrConflict = deployment.ErrConflict
	// ErrInterruptedTurn means that a turn is unfinished, so no change is possible: run the old
	// configuration and drain it first.
	ErrInterruptedTurn = deployment.ErrInterruptedTurn
	// ErrOpenWindows means that windows are open. ChangeOptions.Now makes Change give them up.
	ErrOpenWindows = deployment.ErrOpenWindows
	// ErrOpenPeriod means that a budget period is under way, so the user-hash key cannot change.
	ErrOpenPeriod = deployment.ErrOpenPeriod
	// ErrLogFault means that a topic lacks records that the guarantees need, or has changed ones.
	ErrLogFault = deployment.ErrLogFault
	// ErrCountsSchema means that consumers cannot read counts in Avro, because the registry does
	// not return the schema for the id in the values.
	ErrCountsSchema = deployment.ErrCountsSchema
	// ErrTopicSettings means that a topic is missing, or that its settings could lose records.
	ErrTopicSettings = deployment.ErrTopicSettings
	// ErrStrict is joined to ErrTopicSettings if only strict checks fail.
	ErrStrict = deployment.ErrStrict
	// ErrNoBroker means that no broker responded during a drain or a limited wait. Nothing is lost.
	ErrNoBroker = deployment.ErrNoBroker
	// ErrStuck means that a drain could not finish the open turn because of Kafka. Nothing is lost.
	ErrStuck = deployment.ErrStuck
	// ErrUnreachable means that no broker could be reached. Its text lists the addresses tried.
	ErrUnreachable = kafkalog.ErrUnreachable
	// ErrRefused means that a broker refused the connection. Its text lists the settings to check.
	ErrRefused = kafkalog.ErrRefused
	// ErrForbidden means that the brokers denied a permission.
	ErrForbidden = kafkalog.ErrForbidden
	// ErrTopicExists means that CreateTopics found an existing topic. Others may have been created.
	ErrTopicExists = kafkalog.ErrTopicExists
	// ErrReplication means that topics need more replicas than there are brokers.
	ErrReplication = kafkalog.ErrReplication
	// ErrUnknownTopic means that a topic or partition does not exist.
	ErrUnknownTopic = kafkalog.ErrUnknownTopic
)

// Secret wraps a key of 256 random bits, or a password, so that it is printed redacted.
func Secret[T any](value T) secret.Of[T] { return secret.New(value) }

// Compile checks a configuration, fills in its defaults, and computes the budget, its division over
// the metrics, the ladders and the digests. It does not contact a broker. The error is a
// *ConfigError for the invalid field.
func Compile(cfg Config) (*Deployment, error) { return deployment.Compile(cfg) }
