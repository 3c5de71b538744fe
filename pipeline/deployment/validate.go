package deployment

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

const (
	maxSum     = 1 << 36 // largest contribution of one user to a sum; the square of a larger one could not be charged
	maxFilters = 64
	maxSlides  = 100 // maximum number of slides in a window
)

// check returns an error if the configuration is invalid. Nothing has been computed yet. It checks
// single values with settings.Table first, then combinations.
func (c *Config) check() error {
	if path, reason := settings.Check(c); reason != "" {
		return Invalid(path, "%s", reason)
	}
	switch {
	case c.Time.Trust == TrustProducer && c.Time.Slack != 0:
		return Invalid("Time.Slack", "it is only used with %s: leave it out", proposed("Time.Trust", TrustBroker))
	case len(c.Keys.Noise.ID) > 64:
		return Invalid("Keys.Noise.ID", "it is longer than 64 bytes")
	case c.Keys.Noise.Secret.Reveal() == [32]byte{}:
		return Invalid("Keys.Noise.Secret", zeroKey)
	case c.Keys.UserHash.Reveal() == [32]byte{}:
		return Invalid("Keys.UserHash", zeroKey)
	case c.Keys.UserHash.Equal(c.Keys.Noise.Secret):
		return Invalid("Keys.UserHash", "it is the same as the noise key: make another one with openssl rand -hex 32")
	case len(c.Metrics) == 0:
		return Invalid("Metrics", "no metric is configured")
	}
	if err := cmp.Or(c.checkTimes(), c.Kafka.Check(), c.checkTopics()); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range c.Metrics { // first, because later error messages show the name
		name := c.Metrics[i].Name
		if names[name] {
			return inMetric(i, Invalid("Name", "the name %q is used twice: give each metric its own", name))
		}
		names[name] = true
	}
	for i := range c.Metrics {
		if err := c.Metrics[i].check(); err != nil {
			return inMetric(i, err)
		}
	}
	return c.checkTogether()
}

func (c *Config) checkTimes() error {
	if _, err := wallclock.Load(c.Time.WindowZone); err != nil {
		return Invalid("Time.WindowZone", "%q: %v", c.Time.WindowZone, err)
	}
	if err := c.checkDays(); err != nil {
		return err
	}
	switch p := c.Privacy; {
	case p.Period == 0 && p.Lasts == 0:
		return Invalid("Privacy", "neither how often users get a new budget nor how long one lasts is set: give %s "+
			"(a new one every 30 days), or %s (one budget for life, paid out over a year)",
			proposed("Privacy.Period", "720h"), proposed("Privacy.Lasts", "8760h"))
	case p.Period != 0 && p.Lasts != 0:
		return Invalid("Privacy.Lasts", "with a period, a budget lasts for the period: leave one of the two out")
	}
	return nil
}

// checkDays returns an error if a time zone is set and a window or period does not last whole days.
// In most time zones, an hour occurs twice or not at all when clocks change.
func (c *Config) checkDays() error {
	if c.Time.WindowZone == "" {
		return nil
	}
	if c.Privacy.Period%day != 0 {
		return Invalid("Privacy.Period", "%s is not a whole number of days, which %s requires: give a multiple of 24h",
			timespan.Text(c.Privacy.Period), field("Time.WindowZone"))
	}
	for i := range c.Metrics {
		if m := &c.Metrics[i]; m.Window%day != 0 || m.Slide%day != 0 {
			return inMetric(i, Invalid("Window", "windows of %s with a slide of %s do not last whole days, which %s "+
				"requires: give multiples of 24h", timespan.Text(m.Window), timespan.Text(m.Slide),
				field("Time.WindowZone")))
		}
	}
	return nil
}

func (c *Config) checkTopics() error {
	if !topicName(c.Events.Topic) {
		return Invalid("Events.Topic", "%q %s", c.Events.Topic, topicLetters)
	}
	used := map[string]string{c.Events.Topic: "Events.Topic"}
	for _, topic := range c.ownTopics() {
		name, path := *topic.name, topic.path
		isDefault := name == c.Deployment+"-"+topic.suffix // unless it is set to its default
		if !topicName(name) {
			if isDefault {
				path = "Deployment"
			}
			return Invalid(path, "the topic %q %s", name, topicLetters)
		}
		switch other, twice := used[name]; {
		case twice && isDefault:
			return Invalid(other, "topic %s is also %s, whose name follows from the deployment's name: use another "+
				"topic here or there", name, field(path))
		case twice:
			return Invalid(path, "topic %s is also %s: use a different topic for each, for example %s-%s", name,
				field(other), c.Deployment, topic.suffix)
		}
		used[name] = path
	}
	return nil
}

const topicLetters = "is not a valid name for a Kafka topic: it must be 1 to 249 letters (a-z, A-Z), digits, dots, _ " +
	"and -, for example page-visits"

// topicName reports whether Kafka accepts a name for a topic.
func topicName(name string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	return len(name) >= 1 && len(name) <= 249 && name != "." && name != ".." && !strings.ContainsFunc(name, other)
}

// checkCounts returns an error if the format of counts lacks a registry that it needs, or has a
// registry that it does not use.
func (c *Config) checkCounts() error {
	o := &c.Outputs
	switch avro := o.CountsFormat == schemas.CountsAvro; {
	case avro && o.Registry == nil:
		return Invalid("Outputs.CountsFormat", "%s counts contain the id of a schema in a registry: give a registry "+
			"(%s), or choose %s", schemas.CountsAvro, field("Outputs.Registry"), schemas.CountsJSON)
	case !avro && o.Registry != nil:
		return Invalid("Outputs.Registry", "only counts in the format %s have a schema in a registry: leave the "+
			"registry out, or %s", schemas.CountsAvro, proposed("Outputs.CountsFormat", o.CountsFormat))
	case avro:
		return o.Registry.check("Outputs.Registry")
	}
	return nil
}

// zeroKey is the error text for a key of zeros, which would protect nobody.
const zeroKey = "the key is all zeros; it must be 256 random bits: openssl rand -hex 32 makes them"

func (m *Metric) check() error {
	switch {
	case len(m.Name) > 200:
		return Invalid("Name", "it has %d bytes, but at most 200 are possible", len(m.Name))
	case schemas.ValidateMetricName(m.Name) != nil:
		return Invalid("Name", "%q: %v, for example views", m.Name, schemas.ErrMetricName)
	case m.Window%m.Slide != 0 || m.Window/m.Slide > maxSlides:
		return Invalid("Slide", "the window's size, %s, must be a multiple of the slide, %s, and at most %d slides",
			timespan.Text(m.Window), timespan.Text(m.Slide), maxSlides)
	case m.Noise != 0 && metrickind.Of(m.Kind).CountTarget():
		return Invalid("Noise", "it is only used with %s: give %s", metrickind.Plural(metrickind.Computed()),
			field("Metrics.Target.Absolute"))
	}
	return cmp.Or(m.checkValues(), m.checkKeys())
}

// checkValues checks the range of values, and whether kind, target and keys suit the range.
func (m *Metric) checkValues() error {
	kind := metrickind.Of(m.Kind)
	most := int64(maxSum / max(m.MaxEventsPerKey, 1))
	if kind.Tree != nil { // a tree counts events and does not add up values
		most = maxSum
	}
	switch i := slices.IndexFunc(m.Edges, outOfRange); {
	case m.hasEdges() && i >= 0: // Min and Max follow from the edges
		return Invalid("Edges", "%v is out of range: an edge must be a whole number between -2^36 and 2^36", m.Edges[i])
	case !kind.Values() && (m.Min != 0 || m.Max != 0):
		return Invalid("Max", "min and max are only used with %s", metrickind.Plural(metrickind.Valued()))
	case m.Min > m.Max:
		return Invalid("Min", "%d is greater than max, %d: swap min and max, or correct one of them", m.Min, m.Max)
	case kind.Values() && m.Min == 0 && m.Max == 0:
		return Invalid("Max", "a %s needs min and max: values outside count as the nearer of the two, for example "+
			"min: 0, max: 100", kind.Texts.Label)
	case kind.Tree != nil && (m.Max > most || m.Min < -most):
		return Invalid("Max", "min and max must be between -2^36 and 2^36: bring them closer to 0, or give values in "+
			"a coarser unit")
	case m.Max > most || m.Min < -most:
		return Invalid("Max", "%s (%d) times the greatest value is more than 2^36, and no budget pays for that: keep "+
			"min and max between %d and %d, or give values in a coarser unit%s",
			field("Metrics.MaxEventsPerKey"), m.MaxEventsPerKey, -most, most, m.oneEventRemedy())
	}
	if err := m.checkAlso(kind); err != nil {
		return err
	}
	switch {
	case kind.Tree != nil:
		return m.checkTree(kind)
	case len(m.Ranks) > 0:
		return Invalid("Ranks", onlyQuantiles, proposed("Metrics.Kind", metrickind.Quantiles))
	case len(m.Edges) > 0:
		return Invalid("Edges", onlyHistograms, "edges", proposed("Metrics.Kind", metrickind.Histogram))
	case m.Buckets != 0:
		return Invalid("Buckets", onlyHistograms, "buckets", proposed("Metrics.Kind", metrickind.Histogram))
	case m.Scale != "":
		return Invalid("Scale", "only quantiles and histograms have a scale: remove it, or give %s",
			proposed("Metrics.Kind", metrickind.Quantiles))
	case kind.Vector != nil:
		return m.checkVector(kind)
	}
	if m.Min < 0 && m.Target.Relative != 0 {
		return Invalid("Target.Relative", "a %s that can be negative has no relative error; give an absolute target, "+
			"or a min of 0 or more", kind.Texts.Label)
	}
	return m.checkPrivate(kind)
}

// oneEventRemedy returns the end of an error message with a further remedy if several events of a
// user may count in one key, or else "".
func (m *Metric) oneEventRemedy() string {
	if m.MaxEventsPerKey == 1 {
		return ""
	}
	return ", or let one event of each user and key count"
}

// checkVector checks the range of values and the target of a kind with several components.
func (m *Metric) checkVector(kind metrickind.Kind) error {
	power, most := m.widestRange()
	aim := kind.Vector.Aim(m.bounds(), m.Target.Relative, m.Target.Absolute, m.Target.Confidence)
	wanted := m.Target.Relative != 0 || m.Target.Absolute != 0
	switch coarse := CoarseTarget(kind, m.bounds(), m.Target.Confidence); {
	case m.Min == m.Max:
		return Invalid("Max", "a %s needs a min below max: values outside count as the nearer of the two, for example "+
			"min: 0, max: 100", kind.Texts.Label)
	case m.Max-m.Min > most:
		return m.rangeTooWide(power, most)
	case badTarget(m.Target) != nil:
		return badTarget(m.Target)
	case wanted && (aim == 0 || m.Target.Relative != 0 && positiveMinRemedy(kind) == ""):
		return Invalid("Target.Relative", "a %s that can be 0 has no relative error: give an absolute target in the "+
			"unit of the %s, for example %s%s",
			kind.Texts.Label, kind.Texts.Label, proposed("Metrics.Target.Absolute", coarse), positiveMinRemedy(kind))
	case wanted && (noisereduction.Target{Relative: aim, Confidence: 0.95}).Check() != nil:
		return Invalid("Target", "it asks for too little noise for values from %d to %d: give a larger one, for "+
			"example %s", m.Min, m.Max, proposed("Metrics.Target.Absolute", coarse))
	}
	return m.checkPrivate(kind)
}

// badTarget returns an error if package noisereduction refuses the target, or nil.
func badTarget(t noisereduction.Target) error {
	if bad := (*units.RangeError)(nil); errors.As(t.Check(), &bad) {
		return Invalid("Target."+strings.ToUpper(bad.Parameter[:1])+bad.Parameter[1:], "%v", bad)
	}
	return nil
}

// CoarseTarget proposes an absolute target for a kind with several components. The target is a
// twentieth of the range of the kind's value. It is a larger part if the first component would
// otherwise need a relative error r below 1%. Let σ be the noise at the top of a ladder. The rung
// below the top has half of the precision, and meets a target at 95% for counts of at least
// 1.96·√2·σ/r events. For a standard deviation, r is 0.06% with a twentieth of the range (4,600 σ),
// and 1.5% with a quarter (183 σ).
func CoarseTarget(kind metrickind.Kind, b metrickind.Bounds, confidence float64) (target float64) {
	from, to := kind.Vector.Span(float64(b.Min), float64(b.Max))
	for _, parts := range []float64{20, 10, 5, 4, 3} {
		if target = (to - from) / parts; kind.Vector.Aim(b, 0, target, confidence) >= 0.01 {
			break
		}
	}
	return target
}

// widestRange returns the largest allowed difference between max and min. power describes the
// largest amount, as a power of that difference, that one event can add to a component.
func (m *Metric) widestRange() (power string, most int64) {
	maxAmount := maxSum / 2 / int64(max(m.MaxEventsPerKey, 1))
	valueOfTwo := metrickind.Bounds{Events: 1, Max: 2} // only a square is then greater than 2
	if slices.ContainsFunc(m.extraSums(), func(component metrickind.Kind) bool {
		return component.Sensitivity(valueOfTwo) > 2
	}) {
		return "(max − min)²", int64(math.Sqrt(float64(maxAmount)))
	}
	return "max − min", maxAmount
}

func (m *Metric) rangeTooWide(power string, most int64) error {
	without := ""
	if len(m.Also) > 0 {
		without = ", or do without " + strings.Join(m.Also, " and ")
	}
	return Invalid("Max", "%s (%d) times %s is more than 2^35, and no budget pays for that: let max be at most %d "+
		"above min, or give values in a coarser unit%s%s",
		field("Metrics.MaxEventsPerKey"), m.MaxEventsPerKey, power, most, m.oneEventRemedy(), without)
}

// positiveMinRemedy returns the end of an error message with a further remedy, or else "". The
// remedy applies to a kind whose value is above 0 if all events have values above 0.
func positiveMinRemedy(kind metrickind.Kind) string {
	if from, _ := kind.Vector.Span(1, 2); from > 0 {
		return ", or a min above 0"
	}
	return ""
}

func (m *Metric) checkPrivate(kind metrickind.Kind) error {
	if m.Keys.Mode == KeysPrivate && kind.NotPrivate != "" {
		return Invalid("Keys", "%s: take the keys of a metric that counts (%s), or list public keys", kind.NotPrivate,
			field("Metrics.Keys.From"))
	}
	return nil
}

// checkTogether returns an error if metrics do not fit together, or do not fit the events.
func (c *Config) checkTogether() error {
	byName := map[string]*Metric{}
	for i := range c.Metrics {
		byName[c.Metrics[i].Name] = &c.Metrics[i]
	}
	var slides []int64
	for i := range c.Metrics {
		m := &c.Metrics[i]
		slides = append(slides, m.Slide.Milliseconds())
		if m.Counted != nil && byName[countedName(m.Name)] != nil {
			return inMetric(i, Invalid("Counted", "it is released as %q, which is the name of another metric: rename "+
				"one of them", countedName(m.Name)))
		}
		for _, name := range m.partNames() {
			if part := slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == name }); part >= 0 {
				return inMetric(part, Invalid("Name", "metric %s needs this name for a part of its values: give this "+
					"metric another name", m.Name))
			}
		}
		if kind := metrickind.Of(m.Kind); kind.Values() && c.Events.Format.Value == "" {
			return Invalid("Events.Format.Value", "metric %s %s values: give the field that holds them", m.Name,
				kind.Texts.Verb)
		}
		if m.Keys.Mode != KeysFrom {
			continue
		}
		from := byName[m.Keys.From]
		refuse := func(format string, args ...any) error { return inMetric(i, Invalid("Keys.From", format, args...)) }
		switch {
		case from == nil:
			return refuse("there is no metric %q%s", m.Keys.From, c.privateMetrics())
		case from.Keys.Mode != KeysPrivate || metrickind.Of(from.Kind).NotPrivate != "":
			return refuse("%s has no private keys of its own%s", m.Keys.From, c.privateMetrics())
		case from.Window != m.Window || from.Slide != m.Slide:
			return refuse("%s has other windows, %s every %s: give this metric the same windows", m.Keys.From,
				timespan.Text(from.Window), timespan.Text(from.Slide))
		}
	}
	if n := len(calendar.Coarse(slides)); n > calendar.MaxSlides {
		return Invalid("Metrics", "they have %d slides that are not multiples of each other, but at most "+
			"%d are possible: let slides be multiples of each other, for example 1m, 5m and 1h", n, calendar.MaxSlides)
	}
	return nil
}

// privateMetrics returns the end of an error message, which lists the metrics with private keys.
func (c *Config) privateMetrics() string {
	var names []string
	for i := range c.Metrics {
		if m := &c.Metrics[i]; m.Keys.Mode == KeysPrivate {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return ", and no metric has private keys: give one of them private keys, or list keys here"
	}
	return "; metrics with private keys: " + strings.Join(names, ", ")
}

func (m *Metric) checkKeys() error {
	switch m.Keys.Mode {
	case KeysPrivate:
		if len(m.Keys.List) > 0 || m.Keys.From != "" {
			return Invalid("Keys", "private keys need neither a list nor another metric's keys: remove them")
		}
	case KeysPublic:
		if m.Keys.From != "" {
			return Invalid("Keys", "public keys come from a list: remove the other metric")
		}
		if len(m.Keys.List) == 0 {
			return Invalid("Keys", "public keys need a list, for example %s", proposed("Metrics.Keys.List", "[a, b]"))
		}
		for i, k := range m.Keys.List {
			if err := schemas.ValidateKey([]byte(k)); err != nil {
				return Invalid("Keys", "key %d of the list is invalid: %v", i+1, err)
			}
		}
	case KeysFrom:
		if m.Keys.From == "" || len(m.Keys.List) > 0 {
			return Invalid("Keys", "mode from needs the name of another metric and no list, for example %s",
				proposed("Metrics.Keys.From", "visits"))
		}
	}
	return nil
}

// publicKeys returns the configured keys in byte order, without duplicates.
func (m *Metric) publicKeys() [][]byte {
	var keys [][]byte
	for _, k := range m.Keys.List {
		keys = append(keys, []byte(k))
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}
