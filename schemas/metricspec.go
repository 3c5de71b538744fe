package schemas

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MetricSpec is everything on which the meaning of a metric's released values depends: two metrics
// with one Digest are the same question asked in the same way. The digest is part of the input of
// the noise, so that two definitions never have the same noise.
type MetricSpec struct {
	Name   string
	Kind   string // a name of package metrickind
	Filter string // "" passes every event
	Of     string // for derived kinds: the metric that it is derived from

	// Window size and slide, lateness, skew and slack, all in milliseconds.
	WindowSize, WindowSlide, Lateness, Skew, Slack int64

	MaxKeysPerUser, MaxEventsPerKey uint32
	Min, Max                        int64 // for kinds with values: every value is clamped to them

	LadderKind   string // "adaptive" or "geometric"
	LadderFactor float64
	First, Top   units.Precision

	Relative, Absolute, Confidence float64 // the target

	KeyMode    string   // "public", "private" or "from"
	KeysFrom   string   // for "from": the metric whose released keys this one takes
	PublicKeys [][]byte // strictly ascending in byte order
	DeltaKey   units.Delta
	Period     string // of the budget, as time.Duration prints it; "" is one period without end
}

// Key modes of a metric.
const (
	KeysPublic  = "public"  // a list of keys; each is released in every window
	KeysPrivate = "private" // the keys whose noisy count passes a threshold
	KeysFrom    = "from"    // the keys that another metric has released
)

// Filters returns the distinct filters of a deployment's metrics in the order of their first use:
// filter i is bit i of event.Event.Passes and Label.Passes.
func Filters(metrics []MetricSpec) []string {
	var filters []string
	for i := range metrics {
		if f := metrics[i].Filter; f != "" && !slices.Contains(filters, f) {
			filters = append(filters, f)
		}
	}
	return filters
}

// Route returns the metric name from which the release shards of the metric's keys follow: a metric
// that takes the keys of another one is released in the shards of that one.
func (m *MetricSpec) Route() string {
	if m.KeysFrom != "" {
		return m.KeysFrom
	}
	return m.Name
}

// IsCovered reports whether the metric after metric i is its coverage.
func IsCovered(metrics []MetricSpec, i int) bool {
	return i+1 < len(metrics) && metrics[i+1].Of == metrics[i].Name && !metrickind.Of(metrics[i+1].Kind).Component
}

// HasTarget reports whether the metric has a target; without one every count is as precise as the
// budget allows, and Release.Met is always false.
func (m *MetricSpec) HasTarget() bool { return m.Relative > 0 || m.Absolute > 0 }

// Bounds returns the limits on what one user adds to one count of the metric.
func (m *MetricSpec) Bounds() metrickind.Bounds {
	return metrickind.Bounds{Events: int64(m.MaxEventsPerKey), Min: m.Min, Max: m.Max}
}

// Digest returns the SHA-256 of an injective encoding of every field.
func (m MetricSpec) Digest() [32]byte {
	return sha256.Sum256(appendMetricSpec(appendPreamble(nil, KindMetricSpec), m))
}

func appendMetricSpec(dst []byte, m MetricSpec) []byte {
	dst = appendString(dst, m.Name)
	dst = appendString(dst, m.Kind)
	dst = appendString(dst, m.Filter)
	dst = appendString(dst, m.Of)
	for _, ms := range [...]int64{m.WindowSize, m.WindowSlide, m.Lateness, m.Skew, m.Slack} {
		dst = binary.AppendVarint(dst, ms)
	}
	dst = binary.AppendUvarint(dst, uint64(m.MaxKeysPerUser))
	dst = binary.AppendUvarint(dst, uint64(m.MaxEventsPerKey))
	dst = binary.AppendVarint(dst, m.Min)
	dst = binary.AppendVarint(dst, m.Max)
	dst = appendString(dst, m.LadderKind)
	dst = appendFloat(dst, m.LadderFactor)
	dst = appendPrecision(dst, m.First)
	dst = appendPrecision(dst, m.Top)
	dst = appendFloat(dst, m.Relative)
	dst = appendFloat(dst, m.Absolute)
	dst = appendFloat(dst, m.Confidence)
	dst = appendString(dst, m.KeyMode)
	dst = appendString(dst, m.KeysFrom)
	dst = appendKeys(dst, m.PublicKeys)
	dst = appendDelta(dst, m.DeltaKey)
	return appendString(dst, m.Period)
}

func (d *wireDecoder) metricSpec() (m MetricSpec) {
	m.Name = d.text("metric name")
	m.Kind = d.text("metric kind")
	m.Filter = d.text("metric filter")
	m.Of = d.text("covered metric")
	for _, ms := range [...]*int64{&m.WindowSize, &m.WindowSlide, &m.Lateness, &m.Skew, &m.Slack} {
		*ms = d.varint("metric times")
	}
	m.MaxKeysPerUser = d.uint32("keys per user")
	m.MaxEventsPerKey = d.uint32("events per key")
	m.Min = d.varint("least value")
	m.Max = d.varint("greatest value")
	m.LadderKind = d.text("ladder kind")
	m.LadderFactor = d.float("ladder factor")
	m.First = d.precision("first precision")
	m.Top = d.precision("top precision")
	m.Relative = d.float("relative target")
	m.Absolute = d.float("absolute target")
	m.Confidence = d.float("confidence")
	m.KeyMode = d.text("key mode")
	m.KeysFrom = d.text("source of keys")
	m.PublicKeys = d.keys("public keys", true)
	m.DeltaKey = d.delta("key delta")
	m.Period = d.text("period")
	return m
}

// check returns what metricSpec would refuse in the encoding, or "".
func (m MetricSpec) check() string {
	for _, s := range [...]string{m.Name, m.Kind, m.Filter, m.Of, m.LadderKind, m.KeyMode, m.KeysFrom, m.Period} {
		if len(s) > maxTextBytes {
			return "a text of the metric is too long"
		}
	}
	for _, f := range [...]float64{m.LadderFactor, m.Relative, m.Absolute, m.Confidence} {
		if !finite(f) {
			return "a number of the metric is not finite"
		}
	}
	if !keysValid(m.PublicKeys, true) {
		return "public keys too long or out of order"
	}
	return ""
}
