package deployment

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state"
)

const (
	maxShards      = 4096
	minLedgerSlots = 4
	// maxBound keeps c² within what one contribution can be charged for.
	maxBound = 1 << 30
	// maxSum bounds what one user can add to one sum, so that every c² can be
	// charged for.
	maxSum     = 1 << 36
	maxFilters = 64
	maxPerSize = 100 // slides in a window
)

// check refuses an invalid configuration, field by field, before anything is computed.
func (c *Config) check() error {
	switch {
	case len(c.Kafka.Brokers) == 0:
		return Invalid("kafka.brokers", "no broker is named")
	case c.Events.Topic == "":
		return Invalid("events.topic", "no topic is named")
	case c.Time.Trust != TrustBroker && c.Time.Trust != TrustProducer:
		return Invalid("time.trust", "%q is neither broker nor producer", c.Time.Trust)
	case c.Time.Trust == TrustProducer && c.Time.Slack != 0:
		return Invalid("time.slack", "producer times have no slack: leave it out")
	case c.Shards < 1 || c.Shards > maxShards:
		return Invalid("shards", "%d is not in 1 … %d", c.Shards, maxShards)
	case c.ReleaseShards < 1 || c.ReleaseShards > maxShards:
		return Invalid("release_shards", "%d is not in 1 … %d", c.ReleaseShards, maxShards)
	case c.LedgerSlots < minLedgerSlots:
		return Invalid("ledger_slots", "%d is below %d", c.LedgerSlots, minLedgerSlots)
	case c.CatchUp < 1 || c.CatchUp > schemas.MaxSpan:
		return Invalid("catch_up", "%d is not in 1 … %d", c.CatchUp, schemas.MaxSpan)
	case c.CatchUp > 1 && c.CatchUp > c.LedgerSlots/4:
		return Invalid("catch_up", "%d is above a quarter of ledger_slots, %d, of which a restore needs the rest", c.CatchUp, c.LedgerSlots)
	case len(c.Keys.Noise) != 1:
		return Invalid("keys.noise", "%d keys; exactly one is needed", len(c.Keys.Noise))
	case c.Keys.Noise[0].Secret == [32]byte{}:
		return Invalid("keys.noise", "the key is all zeros; it must be 256 random bits")
	case c.Keys.UserHash == [32]byte{}:
		return Invalid("keys.user_hash", "the key is all zeros; it must be 256 random bits")
	case c.Keys.UserHash == c.Keys.Noise[0].Secret:
		return Invalid("keys.user_hash", "it is the noise key; the two must be independent")
	case len(c.Metrics) == 0:
		return Invalid("metrics", "no metric is configured")
	}
	if err := c.checkTimes(); err != nil {
		return err
	}
	if err := c.Kafka.Check(); err != nil {
		return err
	}
	if err := c.checkTopics(); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if names[m.Name] {
			return Invalid("metrics."+m.Name, "the name is used twice")
		}
		names[m.Name] = true
		if err := m.check(); err != nil {
			return err
		}
	}
	return c.checkTogether()
}

func (c *Config) checkTimes() error {
	for _, t := range []struct {
		field string
		d     time.Duration
	}{{"time.lateness", c.Time.Lateness}, {"time.skew", c.Time.Skew}, {"time.slack", c.Time.Slack}, {"time.idle_grace", c.Time.IdleGrace}} {
		if t.d < 0 || t.d%time.Millisecond != 0 || t.d > 366*24*time.Hour {
			return Invalid(t.field, "%v is not a whole number of milliseconds from 0 to a year", t.d)
		}
	}
	if g := c.Outputs.PublishEvery; g < 0 || g%time.Millisecond != 0 || g > time.Hour {
		return Invalid("outputs.publish_every", "%v is not a whole number of milliseconds up to an hour, 0 for at once", g)
	}
	if p := c.Privacy.Period; p < 0 || p%time.Millisecond != 0 {
		return Invalid("privacy.period", "%v is not a whole number of milliseconds, 0 for life", p)
	}
	return nil
}

func (c *Config) checkTopics() error {
	topics := []string{c.Events.Topic, c.Outputs.Counts, c.Outputs.Control, c.Outputs.Ledger, c.Outputs.DeadLetter, c.Outputs.Turns}
	slices.Sort(topics)
	for i := 1; i < len(topics); i++ {
		if topics[i] == topics[i-1] {
			return Invalid("outputs", "the topic %s is used for two things", topics[i])
		}
	}
	return nil
}

// checkCounts refuses a format of counts without what it needs, or with what it does not use.
func (c *Config) checkCounts() error {
	o := &c.Outputs
	if formats := schemas.CountsFormats(); !slices.Contains(formats, string(o.CountsFormat)) {
		return Invalid("outputs.counts_format", "%q is neither %s", o.CountsFormat, metrickind.Listed(formats, " nor "))
	}
	switch avro := o.CountsFormat == schemas.CountsAvro; {
	case avro && o.Registry == nil:
		return Invalid("outputs.counts_format", "avro counts carry the id of a schema in a registry: name it (outputs.registry), or choose %s or %s", schemas.CountsJSON, schemas.CountsAvroObject)
	case !avro && o.Registry != nil:
		return Invalid("outputs.registry", "only counts in the format %s have a schema in a registry, and outputs.counts_format is %s: leave one of the two out", schemas.CountsAvro, o.CountsFormat)
	case avro:
		return o.Registry.check("outputs.registry")
	}
	return nil
}

func (m *Metric) check() error {
	at := func(field string) string { return "metrics." + m.Name + "." + field }
	kinds := metrickind.Names(metrickind.Offered())
	switch {
	case schemas.ValidateMetricName(m.Name) != nil:
		return Invalid("metrics.name", "%q: %v", m.Name, schemas.ErrMetricName)
	case !slices.Contains(kinds, m.Kind):
		return Invalid(at("kind"), "%q is neither %s", m.Kind, metrickind.Listed(kinds, " nor "))
	case m.Window < time.Millisecond || m.Window%time.Millisecond != 0:
		return Invalid(at("window.size"), "%v is not a positive whole number of milliseconds", m.Window)
	case m.Slide < time.Millisecond || m.Slide%time.Millisecond != 0 || m.Window%m.Slide != 0 || m.Window/m.Slide > maxPerSize:
		return Invalid(at("window.slide"), "%v: the size, %v, must be a multiple of it, at most %d times", m.Slide, m.Window, maxPerSize)
	case m.MaxKeysPerUser < 1 || m.MaxKeysPerUser > maxBound:
		return Invalid(at("max_keys_per_user"), "%d is not in 1 … %d", m.MaxKeysPerUser, maxBound)
	case m.MaxEventsPerKey < 1 || m.MaxEventsPerKey > maxBound:
		return Invalid(at("max_events_per_key"), "%d is not in 1 … %d", m.MaxEventsPerKey, maxBound)
	case m.LastAtLeast < 0:
		return Invalid(at("last_at_least"), "%d is negative", m.LastAtLeast)
	case m.LastAtLeast == 0 && m.Ladder.Sigma == 0:
		return Invalid(at("last_at_least"), "say how many windows every user must be able to take part in, or give an explicit ladder.sigma")
	case m.LastAtLeast == 0 && m.Keys.Mode == KeysPrivate:
		return Invalid(at("last_at_least"), "private keys need it to divide δ, also beside an explicit ladder.sigma")
	case !(m.Ladder.Sigma >= 0) || math.IsInf(m.Ladder.Sigma, 0):
		return Invalid(at("ladder.sigma"), "it must be a positive number")
	case !(m.Ladder.FirstSigma >= 0) || math.IsInf(m.Ladder.FirstSigma, 0):
		return Invalid(at("ladder.first_sigma"), "it must be a positive number")
	case !(m.Ladder.ExpectedMax >= 0) || math.IsInf(m.Ladder.ExpectedMax, 0):
		return Invalid(at("ladder.expected_max"), "it must be a positive number")
	case !(m.Share >= 0 && m.Share <= 1):
		return Invalid(at("share"), "it must be in 0 … 1")
	}
	if err := m.checkValues(); err != nil {
		return err
	}
	if c := m.Coverage; c != nil && !(c.Share > 0 && c.Share < 1) {
		return Invalid(at("coverage.share"), "it must be between 0 and 1")
	}
	return m.checkKeys()
}

// checkValues looks at the bounds of values, and at what they and the kind rule out.
func (m *Metric) checkValues() error {
	at := func(field string) string { return "metrics." + m.Name + "." + field }
	kind := metrickind.Of(m.Kind)
	switch most := int64(maxSum / m.MaxEventsPerKey); {
	case !kind.Values && (m.Min != 0 || m.Max != 0):
		return Invalid(at("bounds"), "min and max are for %s", metrickind.Plural(metrickind.Valued()))
	case m.Min > m.Max:
		return Invalid(at("bounds.min"), "%d is greater than max, %d", m.Min, m.Max)
	case kind.Values && m.Min == 0 && m.Max == 0:
		return Invalid(at("bounds.max"), "a %s needs min and max: every value is clamped to them", kind.Texts.Label)
	case m.Max > most || m.Min < -most:
		return Invalid(at("bounds"), "max_events_per_key times the greatest value is above 2^36, which no account can be charged for; choose a coarser unit")
	}
	if least, _ := kind.Range(m.bounds()); least < 0 && m.Target.Relative != 0 {
		return Invalid(at("target.relative"), "a %s that can be negative has no relative error; give an absolute target, or a min of 0 or more", kind.Texts.Label)
	}
	if m.Keys.Mode == KeysPrivate && kind.NotPrivate != "" {
		return Invalid(at("keys"), "%s: take the keys of a metric that counts (keys_from), or list public ones", kind.NotPrivate)
	}
	return nil
}

// checkTogether refuses metrics that do not fit together.
func (c *Config) checkTogether() error {
	byName := map[string]*Metric{}
	for i := range c.Metrics {
		byName[c.Metrics[i].Name] = &c.Metrics[i]
	}
	var slides []int64
	for i := range c.Metrics {
		m := &c.Metrics[i]
		slides = append(slides, m.Slide.Milliseconds())
		if m.Coverage != nil && byName[coverageName(m.Name)] != nil {
			return Invalid("metrics."+m.Name+".coverage", "it is released as %q, and a metric has that name", coverageName(m.Name))
		}
		if kind := metrickind.Of(m.Kind); kind.Values && c.Events.Format.Value == "" {
			return Invalid("events.fields.value", "metric %s %s values: name the field that holds them", m.Name, kind.Texts.Verb)
		}
		if m.Keys.Mode != KeysFrom {
			continue
		}
		from := byName[m.Keys.From]
		switch at := "metrics." + m.Name + ".keys.keys_from"; {
		case from == nil:
			return Invalid(at, "there is no metric %q", m.Keys.From)
		case from.Keys.Mode != KeysPrivate || metrickind.Of(from.Kind).NotPrivate != "":
			return Invalid(at, "%s has no private keys of its own", m.Keys.From)
		case from.Window != m.Window || from.Slide != m.Slide:
			return Invalid(at, "the windows of %s are others: both need the same size and slide", m.Keys.From)
		}
	}
	if n := len(calendar.Coarse(slides)); n > calendar.MaxSlides {
		return Invalid("metrics.window", "%d slides of which none is a multiple of another; at most %d", n, calendar.MaxSlides)
	}
	return nil
}

func (m *Metric) checkKeys() error {
	at := "metrics." + m.Name + ".keys"
	switch m.Keys.Mode {
	case KeysPrivate:
		if len(m.Keys.List) > 0 || m.Keys.From != "" {
			return Invalid(at, "private keys take no list, and no other metric's keys")
		}
	case KeysPublic:
		if m.Keys.From != "" {
			return Invalid(at, "public keys are listed, not taken from another metric")
		}
		if len(m.Keys.List) == 0 {
			return Invalid(at, "public keys need a list")
		}
		for _, k := range m.Keys.List {
			if err := schemas.ValidateKey([]byte(k)); err != nil {
				return Invalid(at, "a key of the list is invalid: %v", err)
			}
		}
	case KeysFrom:
		if m.Keys.From == "" || len(m.Keys.List) > 0 {
			return Invalid(at, "keys that are taken from another metric need its name, and no list")
		}
	default:
		return Invalid(at, "%q is neither public nor private", m.Keys.Mode)
	}
	return nil
}

// publicKeys returns the list in byte order, each key once.
func (m *Metric) publicKeys() [][]byte {
	var keys [][]byte
	for _, k := range m.Keys.List {
		keys = append(keys, []byte(k))
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

// payable refuses a ladder whose top a single event cannot pay for.
func payable(m *Metric, top state.Precision, b state.Budget) error {
	if charge, ok := state.Charge(1, top); !ok || charge > b.Mu2 {
		return Invalid("metrics."+m.Name+".ladder", "no user can pay for its top: one event costs more than the whole budget; raise ladder.sigma or epsilon")
	}
	return nil
}
