package changes

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// value returns a field with its old and new value as text.
func value[T any](field string, was, is T) Value {
	return Value{Field: field, Was: textOf(was), Is: textOf(is)}
}

func textOf(v any) string {
	text := fmt.Sprint(v)
	if text == "" {
		return "none"
	}
	return text
}

// onlyDiffering removes the fields whose old and new value are equal.
func onlyDiffering(values []Value) []Value {
	return slices.DeleteFunc(values, func(v Value) bool { return v.Was == v.Is })
}

// fingerprint identifies a key by the start of its hash, which reveals nothing about the key.
func fingerprint(hash [32]byte) string {
	return "the key with fingerprint " + hex.EncodeToString(hash[:4])
}

// metricValues returns the fields of schemas.MetricSpec, other than the name, in which two
// definitions of a metric differ.
func metricValues(was, is *schemas.MetricSpec) []Value {
	millis := func(field string, was, is int64) Value {
		return value(field, time.Duration(was)*time.Millisecond, time.Duration(is)*time.Millisecond)
	}
	events, maximum := "bounds.max_events_per_key", "bounds.max"
	if metrickind.Of(is.Kind).Share {
		events, maximum = "counted.max_events", "windows for which a part of the budget is reserved"
	}
	relative := "target.relative"
	if metrickind.Of(is.Kind).Tree != nil { // not configured, but computed from the target of the metric's statistics
		relative = "relative error of the number of events, from target.absolute"
	}
	keys := "keys.list"
	if metrickind.Of(is.Kind).HasNodes() { // the public keys are the edges of a histogram
		keys = "edges"
	}
	return onlyDiffering([]Value{
		value("kind", was.Kind, is.Kind), value("filter", was.Filter, is.Filter), value("of", was.Of, is.Of),
		millis("window.size", was.WindowSize, is.WindowSize), millis("window.slide", was.WindowSlide, is.WindowSlide),
		millis("time.lateness", was.Lateness, is.Lateness), millis("time.skew", was.Skew, is.Skew), millis("time.slack",
			was.Slack, is.Slack),
		value("bounds.max_keys_per_user", capOf(was.MaxKeysPerUser), capOf(is.MaxKeysPerUser)),
		value(events, capOf(was.MaxEventsPerKey), capOf(is.MaxEventsPerKey)),
		value("bounds.min", was.Min, is.Min), value(maximum, was.Max, is.Max),
		value("ladder.kind", was.LadderKind, is.LadderKind), value("ladder.factor", was.LadderFactor, is.LadderFactor),
		value(relative, was.Relative, is.Relative), value("target.absolute", was.Absolute, is.Absolute),
		value("target.confidence", was.Confidence, is.Confidence),
		value("keys.mode", was.KeyMode, is.KeyMode), value("keys.keys_from", was.KeysFrom, is.KeysFrom),
		keyLists(keys, was.PublicKeys, is.PublicKeys),
		deviations("σ of the first rung", was.First, is.First), deviations("σ of the top", was.Top, is.Top),
		shares("δ per event of a key", was.DeltaKey, is.DeltaKey),
		distinct("burst of the allowance (B²)", was.Burst != is.Burst, was.Burst.Float(), is.Burst.Float()),
		distinct("refill of the allowance (B²)", was.Refill != is.Refill, was.Refill.Float(), is.Refill.Float()),
		millis("horizon of the allowance", was.Horizon, is.Horizon), value("privacy.period", was.Period, is.Period),
	})
}

// capOf returns a cap as text, or "" if there is none.
func capOf(limit uint32) string {
	if limit == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(limit), 10)
}

// scaleValues compares the scales of a metric's trees, which follow from the kinds of the nodes.
func scaleValues(m *schemas.MetricSpec, was, is *schemas.Header) []Value {
	tree := metrickind.Of(m.Kind).Tree
	if tree == nil {
		return nil
	}
	scale := func(h *schemas.Header) string {
		if slices.ContainsFunc(h.Metrics, func(o schemas.MetricSpec) bool {
			return o.Of == m.Name && slices.Index(tree.Nodes, o.Kind) > 0
		}) {
			return deployment.ScaleLogarithmic
		}
		return deployment.ScaleLinear
	}
	return onlyDiffering([]Value{value("scale", scale(was), scale(is))})
}

// placeValues compares the positions in a record of the fields that a metric reads.
func placeValues(m *schemas.MetricSpec, was, is *schemas.Header) []Value {
	places := []Value{value("events.fields.key", was.Events.Key, is.Events.Key),
		value("events.fields.time, events.time_unit", was.Events.Time, is.Events.Time)}
	if metrickind.Of(m.Kind).Values() {
		places = append(places, value("events.fields.value, events.decimals", was.Events.Value, is.Events.Value))
	}
	return onlyDiffering(places)
}

// deviations shows precisions as standard deviations, with enough digits to distinguish them.
func deviations(field string, was, is units.Precision) Value {
	return distinct(field, was != is, 1/math.Sqrt(was.Float()), 1/math.Sqrt(is.Float()))
}

func shares(field string, was, is units.Delta) Value {
	return distinct(field, was != is, was.Float(), is.Float())
}

func distinct(field string, differ bool, was, is float64) Value {
	v := Value{Field: field}
	for digits := 3; digits <= 17; digits++ {
		v.Was, v.Is = strconv.FormatFloat(was, 'g', digits, 64), strconv.FormatFloat(is, 'g', digits, 64)
		if v.Was != v.Is {
			return v
		}
	}
	if differ {
		v.Is += " (differs in the last bits)"
	}
	return v
}

// keyLists compares lists of public keys, or of edges. It shows only their lengths and how many
// elements were added and removed, because no log may contain keys.
func keyLists(field string, was, is [][]byte) Value {
	missing := func(in, notIn [][]byte) (n int) {
		for _, k := range in {
			if _, found := slices.BinarySearchFunc(notIn, k, slices.Compare[[]byte]); !found {
				n++
			}
		}
		return n
	}
	what, _, _ := strings.Cut(field, ".")
	v := Value{Field: field, Was: fmt.Sprintf("%d %s", len(was), what), Is: fmt.Sprintf("%d %s", len(is), what)}
	if gone, added := missing(was, is), missing(is, was); gone+added > 0 {
		v.Is += fmt.Sprintf(" (%d added, %d removed)", added, gone)
	}
	return v
}
