package demo

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Settings are the promise, the accuracy of releases and the limits of one user's contributions, as
// in the pipeline's configuration.
type Settings struct {
	Epsilon, Delta  float64
	DeltaKeys       float64 `json:",omitempty"` // part of Delta for private keys; 0: a tenth
	Accountant      string
	Window          time.Duration
	Target          noisereduction.Target
	MaxKeysPerUser  int // 0: no cap
	MaxEventsPerKey int
	Noise           float64       // deployment.Metric.Noise
	Lasts           time.Duration // time over which accounts are paid out
	PublicKeys      []string      // nil: keys are private
	// Kind is the metric's kind; "" is the default. Kinds with values need a source with a value
	// field, and clamp values to Min and Max.
	Kind     string `json:",omitempty"`
	Min, Max int64  `json:",omitempty"`
	pipeline.Statistics
	NoUser  string  `json:",omitempty"` // records without a user: SkipNoUser, event.NoUserEach, or "": broken
	Planned float64 `json:",omitempty"` // part of the promise spent on choosing bounds
}

// SkipNoUser is the Settings.NoUser that leaves out records without a user.
const SkipNoUser = "skip"

// MetricName is the name of a demo's only metric.
const MetricName = "events"

// Private reports whether keys are private.
func (s Settings) Private() bool { return s.PublicKeys == nil }

const (
	eventsTopic = "events"
	shards      = 16
)

// config returns the pipeline's configuration for a source on a broker.
func (s Settings) config(broker pipeline.Kafka, source Source, secrets Secrets) pipeline.Config {
	keys := pipeline.Keys{Mode: "private"}
	if !s.Private() {
		keys = pipeline.Keys{Mode: "public", List: s.PublicKeys}
	}
	traits := source.Traits()
	return pipeline.Config{
		Deployment: "tollgate-demo",
		Kafka:      broker,
		Events:     pipeline.Events{Topic: eventsTopic, Format: traits.Format},
		Privacy: pipeline.Privacy{Epsilon: s.Epsilon, Delta: s.Delta, DeltaKeys: s.DeltaKeys,
			Accountant: s.Accountant, Planned: s.Planned, Lasts: s.Lasts},
		Time: pipeline.Time{
			Trust: "producer", Lateness: traits.Lateness, Skew: traits.Skew, AcceptFuture: traits.AcceptFuture,
		},
		Metrics: []pipeline.Metric{{
			Name: MetricName, Kind: s.Kind, Min: s.Min, Max: s.Max, Statistics: s.Statistics, Window: s.Window,
			Keys:           keys,
			MaxKeysPerUser: s.MaxKeysPerUser, MaxEventsPerKey: s.MaxEventsPerKey,
			Ladder: pipeline.Ladder{Kind: string(noisereduction.Adaptive)},
			Target: s.Target, Noise: s.Noise, Share: 1,
		}},
		Outputs: pipeline.Outputs{Counts: "counts", Control: "control", Ledger: "ledger", DeadLetter: "dead-letter",
			Turns: "turns"},
		Keys:   pipeline.SecretKeys{Noise: secrets.Noise, UserHash: secrets.UserHash},
		Shards: shards, ReleaseShards: 1,
	}
}

// Compile checks the settings before anything is read or started. The returned deployment shows the
// budget and the ladder, but cannot be run. Errors are *pipeline.ConfigError.
func (s Settings) Compile() (*pipeline.Deployment, error) {
	secrets := Secrets{Noise: noisereduction.NoiseKey{ID: noiseKeyID, Secret: secret.New([32]byte{1})},
		UserHash: secret.New([32]byte{2})}
	config := s.config(pipeline.Kafka{Brokers: []string{"127.0.0.1:1"}}, &Generated{}, secrets)
	if metrickind.Of(s.Kind).Values() {
		config.Events.Format.Value = "value" // the file's format is not known yet
	}
	if s.NoUser == event.NoUserEach {
		config.Events.Format.NoUser = s.NoUser
	}
	return pipeline.Compile(config)
}
