package deployment

import (
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Config describes a deployment. A zero field stands for its default. Package settings defines the
// ranges and defaults of all fields; docs/configuration.md lists them. Compile keeps parts of a
// Config: do not change it afterwards.
//
// A run computes digests from the JSON of a Config. That JSON contains no secrets, and no paths of
// files that may be replaced while the deployment runs.
type Config struct {
	// Deployment prefixes the transactional ids that fence writers; two deployments on one cluster
	// need different names.
	Deployment    string
	Kafka         Kafka
	Events        Events
	Privacy       Privacy
	Time          Time
	Metrics       []Metric
	Outputs       Outputs
	Keys          SecretKeys
	Shards        int // account shards, and partitions of the ledger
	ReleaseShards int // partitions of the counts topic
	LedgerSlots   int // number of turns after which a ledger slot is reused
	// Record lists the deployments that have begun under Keys; others are refused. nil: unknown.
	Record *Record `json:"-"`
}

// Kafka holds the addresses of the brokers and the settings of the connection.
type Kafka struct {
	Brokers []string // host:port of at least one broker
	TLS     *TLS     // nil: plaintext
	SASL    *SASL    // nil: no authentication
}

// TLS names PEM files, which are read for every connection to a broker. The zero value trusts the
// system's authorities and sends no certificate.
type TLS struct {
	CAFile     string `json:"-"` // trusted authorities; "": the system's
	CertFile   string `json:"-"` // client certificate; needs KeyFile
	KeyFile    string `json:"-"` // private key of CertFile
	ServerName string // default: the broker's host name
}

// SASL configures how clients authenticate to brokers.
type SASL struct {
	Mechanism string // plain, scram-sha-256, scram-sha-512 or oauthbearer
	// User and Password are the id and the secret of the client if TokenURL is set.
	User     string
	Password secret.Of[string]
	// PasswordFile, if set, replaces Password. It is read for every connection, less a final
	// newline.
	PasswordFile string `json:"-"`

	// Exactly one of TokenFile and TokenURL is required for oauthbearer. TokenFile is read for
	// every connection. TokenURL is the endpoint of an authorization server. Tokens are requested
	// there with the client credentials grant (RFC 6749, section 4.4), before the last one expires.
	TokenFile   string            `json:"-"`
	TokenURL    secret.Of[string] // errors omit its query
	TokenCAFile string            `json:"-"` // PEM file of the authority of TokenURL; "": the system's
	Audience    string            // requested at TokenURL; "": none
	Scopes      []string          // requested at TokenURL
	Extensions  []string          // name=value, sent to brokers with the token (RFC 7628, section 3.1)
}

// Events names the topic that is read and describes its records.
type Events struct {
	Topic    string
	Format   event.Format
	Registry *Registry // nil: no schema registry
	// AcceptSizeRetention accepts a topic with retention.bytes, although Kafka may then delete
	// records at any time. A restart that needs a deleted record fails.
	AcceptSizeRetention bool
}

// Registry is a schema registry with Confluent's API.
type Registry struct {
	URL          string
	User         string // user of basic authentication; "": no authentication
	Password     secret.Of[string]
	PasswordFile string `json:"-"` // if set, read for every request instead of Password
	CAFile       string `json:"-"` // PEM, read for every connection; "": the system's authorities
}

// Privacy is the promise: (Epsilon, Delta) for every user, over everything that the deployment ever
// releases, or over one Period.
type Privacy struct {
	Epsilon float64
	Delta   float64
	// DeltaKeys is the part of Delta that private keys may spend. No change can raise it: set it
	// from the start if you may add a metric with private keys later.
	DeltaKeys  float64
	Accountant string
	// Period is the length of a budget period in event time: the unit of privacy is then a user in
	// one period, and every period has its own budget. With Period 0, a user has one budget for
	// life, which is paid out over Lasts. Exactly one of the two must be set.
	Period, Lasts time.Duration
	// Planned is the part of the promise (of B² and of δ_keys) that was spent on the choice of
	// bounds before the deployment began.
	Planned float64
}

// Time selects the clock to trust, and limits how far events may be out of order.
type Time struct {
	// Trust is TrustBroker, which needs append times on the topic, or TrustProducer, which makes
	// the promise depend on correct producers.
	Trust    string
	Lateness time.Duration // how far behind its append time an event may be
	Skew     time.Duration // how far ahead of its append time an event may be
	// Slack is how far append times within a partition may step back without making a record late;
	// 0 with producer times.
	Slack time.Duration
	// IdleGrace is how long a partition may be silent before its watermark follows the wall clock.
	// The watermark is then the wall clock minus Lateness, Skew and IdleGrace.
	IdleGrace    time.Duration
	AcceptFuture bool   // whether events from the future count; only for files
	WindowZone   string // time zone of windows and budget periods (package wallclock); "": UTC
}

// Values of Time.Trust.
const (
	TrustBroker   = "broker"
	TrustProducer = "producer"
)

// Metric defines a count that is released for every window and key.
type Metric struct {
	Name   string
	Kind   string        // name of a kind in metrickind.Offered
	Filter string        // condition on the events that count; "": all
	Window time.Duration // size of a window
	// Slide is the time between the starts of consecutive windows. Windows start at multiples of
	// Slide since the Unix epoch, on the clock of Time.WindowZone. 0: the same as Window.
	Slide time.Duration
	Keys  Keys
	// Min and Max clamp every value to a range, in the unit of the events. Only the kinds in
	// metrickind.Valued use them; they are 0 for other kinds.
	Min, Max int64
	// Statistics selects the released statistics of kinds with several components or a Tree.
	Statistics
	// Counted, if set, also releases the share of the events that is counted in each window.
	Counted *Counted
	// MaxKeysPerUser and MaxEventsPerKey cap the contribution of one user to one window. They only
	// change what a count means: the noise does not depend on them. 0: no cap.
	MaxKeysPerUser, MaxEventsPerKey int
	Ladder                          Ladder
	// Target is the accuracy at which a release stops. Kinds whose target is the error of a count
	// need Absolute, which is also their least noise.
	Target noisereduction.Target
	// Noise is the least noise of the number of events, for other kinds: ± Noise, at the confidence
	// of Target.
	Noise float64
	Share float64 // part of every account that the metric may use; 0: equal parts for all metrics
	// Burst is the part of Share that a user may use at once. The rest is paid out evenly over the
	// period, or over Privacy.Lasts.
	Burst float64
}

// Keys selects the released keys.
type Keys struct {
	Mode string   // KeysPublic (released even at zero and in empty windows), KeysPrivate or KeysFrom
	List []string // the public keys
	From string   // name of the metric, with the same windows, whose released keys this metric uses
}

// Counted adds a derived metric named <metric>.counted, with the keys counted and left_out. It
// releases how many events of each window are counted and how many are left out, including the
// events of users whose budget is spent. The derived metric has its own admissions. Its part of
// every account pays for every window.
type Counted struct {
	Target noisereduction.Target
	Share  float64 // part of the metric's budget that the derived metric uses
	// MaxEvents limits the events of one user in a window, over all keys. A user with more events
	// contributes MaxEvents, in the same ratio of the two keys. 0: as many as a full bucket pays
	// for in one key.
	MaxEvents int
}

// Values of Keys.Mode.
const (
	KeysPublic  = schemas.KeysPublic
	KeysPrivate = schemas.KeysPrivate
	KeysFrom    = schemas.KeysFrom
)

// Ladder is the sequence of precisions of a release.
type Ladder struct {
	Kind   string  // adaptive or geometric
	Factor float64 // step of a geometric ladder
}

// Outputs names the deployment's own topics and the format of counts.
type Outputs struct {
	Counts, Control, Ledger, DeadLetter string
	Turns                               string // the ends of turns, for consumers of counts
	CountsFormat                        schemas.CountsFormat
	// Registry is the registry in which Init and Change register the schema of counts, if
	// CountsFormat is CountsAvro. nil: the events' registry.
	Registry *Registry
	// PublishEvery restricts publication to multiples of PublishEvery since the Unix epoch, by the
	// wall clock, so the time of publication reveals nothing. A turn then takes at least that long.
	// 0: counts are published as soon as they are ready.
	PublishEvery time.Duration
}

// ownTopic is one of the deployment's own topics. Its default name is <deployment>-<suffix>.
type ownTopic struct {
	path, suffix string
	name         *string
}

func (c *Config) ownTopics() []ownTopic {
	o := &c.Outputs
	return []ownTopic{{"Outputs.Counts", "counts", &o.Counts}, {"Outputs.Control", "control", &o.Control},
		{"Outputs.Ledger", "ledger", &o.Ledger}, {"Outputs.DeadLetter", "dead-letter", &o.DeadLetter},
		{"Outputs.Turns", "turns", &o.Turns}}
}

// SecretKeys are two independent keys of 256 random bits.
type SecretKeys struct {
	Noise    noisereduction.NoiseKey // derives the noise
	UserHash secret.Of[[32]byte]     // hashes user ids to account ids, and records to record ids
}

// withDefaults returns a copy of c in which every field that has a default is set. A default is a
// constant in settings.Table, or follows from other fields.
func (c Config) withDefaults() Config {
	if zone, err := wallclock.Load(c.Time.WindowZone); zone == nil && err == nil {
		c.Time.WindowZone = "" // the only name of UTC
	}
	c.Metrics = slices.Clone(c.Metrics)
	for i := range c.Metrics {
		m := &c.Metrics[i]
		setDefault(&m.Slide, m.Window)
		if m.Counted != nil {
			counted := *m.Counted
			setDefault(&counted.Target, noisereduction.Target{Relative: 0.05, Confidence: m.Target.Confidence})
			m.Counted = &counted
		}
		switch {
		case m.Keys.From != "":
			setDefault(&m.Keys.Mode, KeysFrom)
		case len(m.Keys.List) > 0:
			setDefault(&m.Keys.Mode, KeysPublic)
		default:
			setDefault(&m.Keys.Mode, KeysPrivate)
		}
	}
	settings.Fill(&c)
	for i := range c.Metrics {
		c.Metrics[i].defaultStatistics()
	}
	for _, topic := range c.ownTopics() {
		setDefault(topic.name, c.Deployment+"-"+topic.suffix)
	}
	c.Outputs.defaultFormat(c.Events.Registry)
	if c.Time.Trust == TrustBroker {
		setDefault(&c.Time.Slack, settings.DefaultSlack)
	}
	setDefault(&c.LedgerSlots, defaultSlots(c.Metrics))
	return c
}

func (o *Outputs) defaultFormat(events *Registry) {
	if o.CountsFormat == "" || o.CountsFormat == schemas.CountsAvro {
		setDefault(&o.Registry, events)
	}
	if o.Registry != nil {
		setDefault(&o.CountsFormat, schemas.CountsAvro)
	}
	setDefault(&o.CountsFormat, schemas.CountsJSON)
}

// defaultSlots returns the default of LedgerSlots. If windows consist of many slides, snapshots are
// large and therefore rare: an eighth of the longest window lies between two.
func defaultSlots(metrics []Metric) int {
	var least, longest time.Duration
	for i := range metrics {
		if m := &metrics[i]; m.Slide > 0 && (least == 0 || m.Slide < least) {
			least = m.Slide
		}
		longest = max(longest, metrics[i].Window)
	}
	if least == 0 {
		return settings.FewSlots
	}
	return int(min(max(longest/least/4, settings.FewSlots), settings.ManySlots))
}

// overlappingWindows returns the maximum number of windows that overlap one period. Each of these
// windows may charge the period's budget.
func overlappingWindows(period, window, slide time.Duration) int {
	p, w, s := period.Milliseconds(), window.Milliseconds(), slide.Milliseconds() // nanoseconds would overflow
	return int((p + w - gcd(p, s) + s - 1) / s)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
