package pipeline

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// The parts of a deployment, under the names that most programs need. Package
// deployment has their fields, with units, ranges and defaults;
// docs/configuration.md has the same by the names of a configuration file.
type (
	// Config describes a deployment: brokers, events, privacy, times, metrics,
	// topics and keys. Compile checks it. A zero field takes its default, where it
	// has one.
	Config = deployment.Config
	// Kafka says where the brokers are and how to talk to them.
	Kafka = deployment.Kafka
	// TLS names the PEM files of connections to brokers.
	TLS = deployment.TLS
	// SASL is how clients authenticate to brokers. Printed, it shows no password.
	SASL = deployment.SASL
	// Events says which topic is read, and how its records are decoded.
	Events = deployment.Events
	// Registry is a schema registry that speaks Confluent's API, for Avro events.
	Registry = deployment.Registry
	// Privacy is the promise to every user: (ε, δ) over everything that the
	// deployment ever releases, or over one budget period.
	Privacy = deployment.Privacy
	// Time says whose clock decides, and how much disorder is on time.
	Time = deployment.Time
	// Metric is one count for each window and key: its kind, windows, keys, bounds,
	// ladder, target and share of the budget.
	Metric = deployment.Metric
	// Keys says which keys of a metric are released.
	Keys = deployment.Keys
	// Counted asks for the share of a metric's events that is counted in each window.
	Counted = deployment.Counted
	// Statistics says which quantiles, or which shares of a histogram, a metric releases.
	Statistics = deployment.Statistics
	// Ladder is the sequence of precisions that a release goes through.
	Ladder = deployment.Ladder
	// Outputs names the deployment's own topics, and says when counts appear.
	Outputs = deployment.Outputs
	// SecretKeys are the deployment's keys, for noise and for the hashes of user ids.
	SecretKeys = deployment.SecretKeys

	// Format says how the records of the events topic are decoded.
	Format = event.Format
	// Target is the accuracy at which a release stops.
	Target = noisereduction.Target
	// NoiseKey is a noise key with its id.
	NoiseKey = noisereduction.NoiseKey

	// Deployment is a configuration that Compile has checked, with what was computed
	// from it: every call of this package takes one. Read-only, and safe for
	// concurrent use.
	Deployment = deployment.Deployment
	// Record says which deployments have begun under the keys of a configuration, and Beginning is
	// one of them.
	Record    = deployment.Record
	Beginning = deployment.Beginning

	// Difference is a point in which a configuration differs from the one in force.
	Difference = deployment.Difference
	// Value is a field with its value in force and in the configuration.
	Value = deployment.Value

	// ConfigError says which field of a configuration is invalid, and why.
	ConfigError = deployment.ConfigError
	// TopicError says what is wrong with a topic and how to put it right. Every
	// TopicError is an ErrTopicSettings.
	TopicError = deployment.TopicError
)

// Values of Time.Trust.
const (
	// TrustBroker is the default: the broker's append times decide.
	TrustBroker = deployment.TrustBroker
	// TrustProducer lets the producers' times decide: a weaker promise.
	TrustProducer = deployment.TrustProducer
)

// Values of Keys.Mode.
const (
	// KeysPublic releases the listed keys, in every window and also at zero.
	KeysPublic = deployment.KeysPublic
	// KeysPrivate releases the keys whose noisy counts pass a threshold.
	KeysPrivate = deployment.KeysPrivate
	// KeysFrom takes the keys that another metric has released.
	KeysFrom = deployment.KeysFrom
	// ScaleLinear is the default: all parts of the range, or all buckets, have the same width.
	ScaleLinear = deployment.ScaleLinear
	// ScaleLogarithmic makes wider parts, or buckets, for greater values.
	ScaleLogarithmic = deployment.ScaleLogarithmic
)

// The errors of calls on a deployment, for errors.Is. docs/runbook.md says what to do
// about each.
var (
	// ErrNotInitialised says that the control topic holds no HEADER: call Init first.
	ErrNotInitialised = deployment.ErrNotInitialised
	// ErrInitialised says that the control topic holds a HEADER already.
	ErrInitialised = deployment.ErrInitialised
	// ErrOtherPromise says that the deployment on the brokers is not one that is recorded with the
	// keys, or that control has lost the one that is.
	ErrOtherPromise = deployment.ErrOtherPromise
	// ErrHeaderMismatch says that the configuration is not the one in force: put the old
	// value back, or call Change where the text says that this is possible.
	ErrHeaderMismatch = deployment.ErrHeaderMismatch
	// ErrStopped says that the deployment has stopped itself, and that no operator has
	// called Recover since.
	ErrStopped = deployment.ErrStopped
	// ErrConflict says that a value that was published differs from what the topics
	// give now.
	ErrConflict = deployment.ErrConflict
	// ErrInterruptedTurn says that a turn is under way, over which nothing can be
	// changed: run the old configuration and drain it first.
	ErrInterruptedTurn = deployment.ErrInterruptedTurn
	// ErrOpenWindows says that windows are open, which Change gives up with Now only.
	ErrOpenWindows = deployment.ErrOpenWindows
	// ErrLogFault says that a topic lost, changed or never had something that the
	// promises rest on.
	ErrLogFault = deployment.ErrLogFault
	// ErrCountsSchema says that consumers of counts in avro cannot read them: the registry does not
	// have the schema of counts under the id that the values carry.
	ErrCountsSchema = deployment.ErrCountsSchema
	// ErrTopicSettings says that a topic is missing, or is set up so that it could lose
	// what the promises rest on.
	ErrTopicSettings = deployment.ErrTopicSettings
	// ErrStrict comes with ErrTopicSettings where only strictness refuses.
	ErrStrict = deployment.ErrStrict
	// ErrNoBroker says that no broker answered while a run was to be drained, or until a
	// wait was over. Nothing is lost.
	ErrNoBroker = deployment.ErrNoBroker
	// ErrStuck says that a run was to be drained and Kafka did not let it finish the open
	// turn. Nothing is lost.
	ErrStuck = deployment.ErrStuck
	// ErrUnreachable says that no broker could be reached, with the addresses that were tried.
	ErrUnreachable = kafkalog.ErrUnreachable
	// ErrRefused says that a broker was reached and would not talk: the text says what to check.
	ErrRefused = kafkalog.ErrRefused
	// ErrForbidden says that the brokers denied a right.
	ErrForbidden = kafkalog.ErrForbidden
	// ErrTopicExists says that CreateTopics found a topic; the others may have been made.
	ErrTopicExists = kafkalog.ErrTopicExists
	// ErrReplication says that topics were to have more replicas than there are brokers.
	ErrReplication = kafkalog.ErrReplication
	// ErrUnknownTopic says that a topic or partition is not there.
	ErrUnknownTopic = kafkalog.ErrUnknownTopic
)

// Secret returns a value that prints redacted: a key of 256 random bits, or a password.
func Secret[T any](value T) secret.Of[T] { return secret.New(value) }

// Compile checks a configuration, fills in its defaults, and computes the budget, its
// division over the metrics, ladders and digests. It asks no broker.
// Errors: *ConfigError names the field.
func Compile(cfg Config) (*Deployment, error) { return deployment.Compile(cfg) }
