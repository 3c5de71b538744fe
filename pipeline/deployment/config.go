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

// Config describes a deployment. A field that is zero has its default. Package settings has the
// ranges and defaults of all fields; docs/configuration.md shows them. Compile keeps parts of a
// Config: do not change it afterwards.
//
// Its JSON, from which a run computes the digests in its terms, contains no secret, and no path of
// a file that may be replaced while a deployment runs.
type Config struct {
	// Deployment prefixes the transactional ids that fence writers; two
	// deployments on one cluster need different ones.
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
	LedgerSlots   int // turns after which a ledger slot is used again
	// Record lists the deployments that have begun under Keys: others are refused. nil: not known.
	Record *Record `json:"-"`
}

// Kafka has the addresses of the brokers and the settings of the connection.
type Kafka struct {
	Brokers []string // host:port of at least one broker
	TLS     *TLS     // nil: plaintext
	SASL    *SASL    // nil: no authentication
}

// TLS names the PEM files of connections to brokers, which are read for every connection. The
// zero value trusts the system's authorities and shows no certificate.
type TLS struct {
	CAFile     string `json:"-"` // the authorities that are trusted; "": the system's
	CertFile   string `json:"-"` // the client's certificate: needs KeyFile
	KeyFile    string `json:"-"` // the private key of CertFile, and needs it
	ServerName string // default: the broker's host name
}

// SASL is how clients authenticate to brokers.
type SASL struct {
	Mechanism string // plain, scram-sha-256, scram-sha-512 or oauthbearer
	// User and Password are, for oauthbearer with TokenURL, the id and the secret of the client.
	User     string
	Password secret.Of[string]
	// PasswordFile, if set, is read for every connection instead of Password; a line end after the
	// password is dropped.
	PasswordFile string `json:"-"`

	// Source of an oauthbearer token: a file, which is read for every connection, or the endpoint
	// of an authorization server, asked by the grant of client credentials (RFC 6749, section 4.4)
	// whenever the last token is about to expire. Only oauthbearer has one of them.
	TokenFile   string            `json:"-"`
	TokenURL    secret.Of[string] // may have a query, which errors do not show
	TokenCAFile string            `json:"-"` // PEM, the authority of TokenURL; "": the system's
	Audience    string            // asked for at TokenURL; "": none
	Scopes      []string          // asked for at TokenURL
	Extensions  []string          // name=value, sent to brokers with the token (RFC 7628, section 3.1)
}

// Events names the topic that is read and describes its records.
type Events struct {
	Topic    string
	Format   event.Format
	Registry *Registry // nil: no schema registry
	// AcceptSizeRetention lets the topic have a limit in bytes (retention.bytes): it is not known
	// beforehand how long records last there, and a restart that finds records gone stops.
	AcceptSizeRetention bool
}

// Registry is a schema registry that speaks Confluent's API.
type Registry struct {
	URL          string
	User         string // user of basic authentication; "": without
	Password     secret.Of[string]
	PasswordFile string `json:"-"` // if set, read for every request instead of Password
	CAFile       string `json:"-"` // PEM, read for every connection; "": the system's authorities
}

// Privacy is the promise: (Epsilon, Delta) for every user, over everything that
// the deployment ever releases.
type Privacy struct {
	Epsilon float64
	Delta   float64
	// DeltaKeys is the part of Delta that private keys may spend. It never rises: set it from
	// the start if a change may add a metric with private keys.
	DeltaKeys  float64
	Accountant string
	// Period makes the unit of privacy a user in one period of the events' time: every period has a
	// budget of its own. 0: one budget for life, which is paid out over Lasts. One of the two is
	// needed.
	Period, Lasts time.Duration
	// Planned is the part of the promise, of B² and of δ_keys, that was spent before the deployment
	// begins, on choosing bounds.
	Planned float64
}

// Time sets whose clock decides, and how much disorder is allowed.
type Time struct {
	// Trust is TrustBroker (the topic must have append times) or TrustProducer (the promise then
	// depends on sane producers).
	Trust    string
	Lateness time.Duration // how far behind its append time an event may be
	Skew     time.Duration // how far ahead of its append time an event may be
	// Slack is the clock step below which a record's own times alone decide; 0 with producer times.
	Slack time.Duration
	// IdleGrace is how long a partition must be silent before the wall clock, less Lateness, Skew
	// and IdleGrace, moves it on.
	IdleGrace time.Duration
	// NoFuture turns the test for events of the future off: for files.
	NoFuture bool
	// WindowZone is the time zone by whose clock windows and budget periods begin, such as
	// Europe/Zurich: see package wallclock. "" is UTC.
	WindowZone string
}

// Values of Time.Trust.
const (
	TrustBroker   = "broker"
	TrustProducer = "producer"
)

// Metric is one count for each window and key.
type Metric struct {
	Name   string
	Kind   string        // a name of metrickind.Offered
	Filter string        // takes the events for which it is true; "": all
	Window time.Duration // size
	// Slide is the distance between the starts of windows, which lie on multiples of it since the
	// Unix epoch, by the clock of Time.WindowZone. 0: Window.
	Slide time.Duration
	Keys  Keys
	// Min and Max clamp every value, in the events' own unit, for the kinds of
	// metrickind.Valued; 0 for the others.
	Min, Max int64
	// Statistics selects the released statistics, for kinds with several components or a Tree.
	Statistics
	// Counted, when set, releases beside the metric which share of its events is counted in each
	// window.
	Counted *Counted
	// MaxKeysPerUser and MaxEventsPerKey are caps on what one user can contribute to
	// one window, for their meaning; 0: none. Noise does not depend on them.
	MaxKeysPerUser, MaxEventsPerKey int
	Ladder                          Ladder
	// Target is the accuracy at which a release stops. For kinds whose target is an error of a
	// count, Absolute is also the least noise of a release, and is needed.
	Target noisereduction.Target
	// Noise is, for the other kinds, the least noise of a number of events at the confidence of the
	// target: ± so many events.
	Noise float64
	// Share is the part of every account that the metric may use; 0: all metrics have equal parts.
	Share float64
	// Burst is the part of that which a user may use at once. The rest is paid out evenly over the
	// period, or over Privacy.Lasts.
	Burst float64
}

// Keys selects the keys that are released.
type Keys struct {
	Mode string   // KeysPublic (released at zero and in empty windows, too), KeysPrivate or KeysFrom
	List []string // the public keys
	From string   // the metric whose released keys this one takes; same window
}

// Counted releases the numbers of events of a metric's window that are counted and left out, even
// of users whose budget is spent: a separate metric <metric>.counted with the keys counted and
// left_out. It has separate admissions, and a part of the account that pays for every window.
type Counted struct {
	Target noisereduction.Target
	Share  float64 // part of the metric's budget that it takes
	// MaxEvents bounds how many events of a user in a window it looks at, over all keys; 0: as many
	// as a full bucket pays for in one key. A user who has more counts with MaxEvents events, in
	// the same ratio.
	MaxEvents int
}

// Values of Keys.Mode.
const (
	KeysPublic  = schemas.KeysPublic
	KeysPrivate = schemas.KeysPrivate
	KeysFrom    = schemas.KeysFrom
)

// Ladder is the sequence of precisions that a release goes through.
type Ladder struct {
	Kind   string  // adaptive or geometric
	Factor float64 // step of a geometric ladder
}

// Outputs names the deployment's own topics and sets when counts appear.
type Outputs struct {
	Counts, Control, Ledger, DeadLetter string
	Turns                               string // the ends of turns, for consumers of counts
	CountsFormat                        schemas.CountsFormat
	// Registry has the schema of counts in CountsAvro; nil: the events' registry. Init and Change
	// register the schema there.
	Registry *Registry
	// PublishEvery makes counts appear at multiples of it since the Unix epoch only, by the wall
	// clock, so that the moment reveals nothing. A turn then takes that long at least. 0: as soon
	// as counts are ready.
	PublishEvery time.Duration
}

// SecretKeys are the deployment's keys: 256 random bits each, independent of each other.
type SecretKeys struct {
	Noise    noisereduction.NoiseKey // noise is drawn with it
	UserHash secret.Of[[32]byte]     // hashes user ids to account ids, and records to record ids
}

// withDefaults returns a copy with a value in every field that has a default. Defaults in
// settings.Table are constants, the others follow from other fields.
func (c Config) withDefaults() Config {
	if zone, err := wallclock.Load(c.Time.WindowZone); zone == nil && err == nil {
		c.Time.WindowZone = "" // one name of UTC
	}
	c.Metrics = slices.Clone(c.Metrics)
	for i := range c.Metrics {
		m := &c.Metrics[i]
		def(&m.Slide, m.Window)
		if m.Counted != nil {
			counted := *m.Counted
			def(&counted.Target, noisereduction.Target{Relative: 0.05, Confidence: m.Target.Confidence})
			m.Counted = &counted
		}
		switch {
		case m.Keys.From != "":
			def(&m.Keys.Mode, KeysFrom)
		case len(m.Keys.List) > 0:
			def(&m.Keys.Mode, KeysPublic)
		default:
			def(&m.Keys.Mode, KeysPrivate)
		}
	}
	settings.Fill(&c)
	for i := range c.Metrics {
		c.Metrics[i].defaultStatistics()
	}
	def(&c.Outputs.Counts, c.Deployment+"-counts")
	def(&c.Outputs.Control, c.Deployment+"-control")
	def(&c.Outputs.Ledger, c.Deployment+"-ledger")
	def(&c.Outputs.DeadLetter, c.Deployment+"-dead-letter")
	def(&c.Outputs.Turns, c.Deployment+"-turns")
	c.Outputs.defaultFormat(c.Events.Registry)
	if c.Time.Trust == TrustBroker {
		def(&c.Time.Slack, 5*time.Second)
	}
	def(&c.LedgerSlots, defaultSlots(c.Metrics))
	return c
}

func (o *Outputs) defaultFormat(events *Registry) {
	if o.CountsFormat == "" || o.CountsFormat == schemas.CountsAvro {
		def(&o.Registry, events)
	}
	if o.Registry != nil {
		def(&o.CountsFormat, schemas.CountsAvro)
	}
	def(&o.CountsFormat, schemas.CountsJSON)
}

// defaultSlots makes snapshots rare if they carry many slices of open windows: an eighth of the
// slices in the longest window lies between two of them.
func defaultSlots(metrics []Metric) int {
	const few, many = 64, 1024
	var least, longest time.Duration
	for i := range metrics {
		if m := &metrics[i]; m.Slide > 0 && (least == 0 || m.Slide < least) {
			least = m.Slide
		}
		longest = max(longest, metrics[i].Window)
	}
	if least == 0 {
		return few
	}
	return int(min(max(longest/least/4, few), many))
}

// overlapping returns the greatest number of windows that hold a part of one period:
// every one of them may charge it.
func overlapping(period, window, slide time.Duration) int {
	p, w, s := period.Milliseconds(), window.Milliseconds(), slide.Milliseconds() // nanoseconds would overflow
	return int((p + w - gcd(p, s) + s - 1) / s)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func def[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}
