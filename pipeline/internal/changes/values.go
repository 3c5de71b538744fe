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

// value returns a field with the texts of its old and new value.
func value[T any](field string, was, is T) Value {
	return Value{Field: field, Was: shown(was), Is: shown(is)}
}

func shown(v any) string {
	text := fmt.Sprint(v)
	if text == "" {
		return "none"
	}
	return text
}

// differing removes values that are equal.
func differing(values []Value) []Value {
	return slices.DeleteFunc(values, func(v Value) bool { return v.Was == v.Is })
}

// fingerprint identifies a key by the start of its hash, which reveals nothing about the key.
func fingerprint(hash [32]byte) string {
	return "the key with fingerprint " + hex.EncodeToString(hash[:4])
}

// metricValues compares two definitions of a metric in every field of schemas.MetricSpec except the
// name.
func metricValues(was, is *schemas.MetricSpec) []Value {
	millis := func(field string, was, is int64) Value {
		return value(field, time.Duration(was)*time.Millisecond, time.Duration(is)*time.Millisecond)
	}
	events, most := "bounds.max_events_per_key", "bounds.max"
	if metrickind.Of(is.Kind).Share {
		events, most = "counted.max_events", "windows for which a part of budgets is kept"
	}
	relative := "target.relative"
	if metrickind.Of(is.Kind).Tree != nil { // not configured: it follows from the target of its statistics
		relative = "relative error of the number of events, from target.absolute"
	}
	keys := "keys.list"
	if metrickind.Of(is.Kind).HasNodes() { // its public keys are the edges of a histogram
		keys = "edges"
	}
	return differing([]Value{
		value("kind", was.Kind, is.Kind), value("filter", was.Filter, is.Filter), value("of", was.Of, is.Of),
		millis("window.size", was.WindowSize, is.WindowSize), millis("window.slide", was.WindowSlide, is.WindowSlide),
		millis("time.lateness", was.Lateness, is.Lateness), millis("time.skew", was.Skew, is.Skew), millis("time.slack",
			was.Slack, is.Slack),
		value("bounds.max_keys_per_user", capOf(was.MaxKeysPerUser), capOf(is.MaxKeysPerUser)),
		value(events, capOf(was.MaxEventsPerKey), capOf(is.MaxEventsPerKey)),
		value("bounds.min", was.Min, is.Min), value(most, was.Max, is.Max),
		value("ladder.kind", was.LadderKind, is.LadderKind), value("ladder.factor", was.LadderFactor, is.LadderFactor),
		value(relative, was.Relative, is.Relative), value("target.absolute", was.Absolute, is.Absolute),
		value("target.confidence", was.Confidence, is.Confidence),
		value("keys.mode", was.KeyMode, is.KeyMode), value("keys.keys_from", was.KeysFrom, is.KeysFrom),
		lists(keys, was.PublicKeys, is.PublicKeys),
		deviations("σ of the first rung", was.First, is.First), deviations("σ of the top", was.Top, is.Top),
		shares("δ per event of a key", was.DeltaKey, is.DeltaKey),
		apart("burst of the allowance (B²)", was.Burst != is.Burst, was.Burst.Float(), is.Burst.Float()),
		apart("refill of the allowance (B²)", was.Refill != is.Refill, was.Refill.Float(), is.Refill.Float()),
		millis("horizon of the allowance", was.Horizon, is.Horizon), value("privacy.period", was.Period, is.Period),
	})
}

// capOf returns the text of a cap; "" if there is none.
func capOf(most uint32) string {
	if most == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(most), 10)
}

// scaleValues compares the scales of a metric's trees, which follow from the kinds of their nodes.
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
	return differing([]Value{value("scale", scale(was), scale(is))})
}

// placeValues compares where the fields that a metric reads are in a record.
func placeValues(m *schemas.MetricSpec, was, is *schemas.Header) []Value {
	places := []Value{value("events.fields.key", was.Events.Key, is.Events.Key),
		value("events.fields.time, events.time_unit", was.Events.Time, is.Events.Time)}
	if metrickind.Of(m.Kind).Values() {
		places = append(places, value("events.fields.value, events.decimals", was.Events.Value, is.Events.Value))
	}
	return differing(places)
}

// deviations compares precisions, as standard deviations with enough digits to distinguish them.
func deviations(field string, was, is units.Precision) Value {
	return apart(field, was != is, 1/math.Sqrt(was.Float()), 1/math.Sqrt(is.Float()))
}

func shares(field string, was, is units.Delta) Value {
	return apart(field, was != is, was.Float(), is.Float())
}

func apart(field string, differ bool, was, is float64) Value {
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

// lists compares lists of public keys, or of edges, by their lengths and the numbers of added and
// removed elements. It does not show keys, because no log may contain them.
func lists(field string, was, is [][]byte) Value {
	only := func(in, notIn [][]byte) (n int) {
		for _, k := range in {
			if _, found := slices.BinarySearchFunc(notIn, k, slices.Compare[[]byte]); !found {
				n++
			}
		}
		return n
	}
	what, _, _ := strings.Cut(field, ".")
	v := Value{Field: field, Was: fmt.Sprintf("%d %s", len(was), what), Is: fmt.Sprintf("%d %s", len(is), what)}
	if gone, added := only(was, is), only(is, was); gone+added > 0 {
		v.Is += fmt.Sprintf(" (%d added, %d removed)", added, gone)
	}
	return v
}
