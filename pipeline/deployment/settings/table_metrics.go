package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func metricFields() []Field {
	milli := float64(time.Millisecond)
	offered := metrickind.Offered()
	return []Field{
		{Name: "name", Path: "Metrics.Name", Kind: Text, Required: true, Example: "views", Change: byChange},
		{Name: "kind", Path: "Metrics.Kind", Kind: Text, OneOf: metrickind.Names(offered), Default: offered[0].Name,
			Change: newName},
		{Name: "ranks", Path: "Metrics.Ranks", Kind: Numbers, In: between(0, 1), Example: "[0.5, 0.95]",
			Absent: "`" + strings.ReplaceAll(fmt.Sprint(DefaultRanks()), " ", ", ") + "` for quantiles",
			Called: []string{"percentiles"}, Change: byChange},
		{Name: "edges", Path: "Metrics.Edges", Kind: Numbers, Example: "[0, 10, 20, 50]",
			Absent: "computed from `buckets`", Change: byChange},
		{Name: "buckets", Path: "Metrics.Buckets", Kind: Integer, In: within(2, metrickind.MostBuckets), Example: "20",
			Absent: "for a histogram without `edges`: 10, or max − min if that is less", Called: []string{"bins"},
			Change: byChange},
		{Name: "scale", Path: "Metrics.Scale", Kind: Text, OneOf: []string{"linear", "logarithmic"}, Absent: "`linear`",
			Change: byChange},
		{Name: "also", Path: "Metrics.Also", Kind: List, OneOf: metrickind.AllAlso(), Example: "[mean]",
			Absent: "nothing", Change: byChange},
		{Name: "filter", Path: "Metrics.Filter", Kind: Text, Absent: "all events", Change: newName},
		{Name: "window", Kind: Object, Required: true, Fields: []Field{
			{Name: "size", Path: "Metrics.Window", Kind: Duration, In: atLeast(milli), Required: true, Example: "1h",
				Change: newName},
			{Name: "slide", Path: "Metrics.Slide", Kind: Duration, In: atLeast(milli), Example: "15m",
				Absent: "`size`: windows do not overlap", Change: newName},
		}},
		{Name: "keys", Path: "Metrics.Keys", Kind: Object, Fields: keysFields()},
		{Name: "bounds", Kind: Object, Fields: boundFields()},
		{Name: "ladder", Path: "Metrics.Ladder", Kind: Object, Fields: ladderFields()},
		{Name: "target", Path: "Metrics.Target", Kind: Object, Fields: append(targetFields("Metrics.Target."), Field{
			Name: "noise", Path: "Metrics.Noise", Kind: Number, Unit: "events", In: above(0), Example: "50",
			Absent: "needed for " + metrickind.Plural(metrickind.Computed()) + "; not for other kinds",
			Change: byChange,
		})},
		{Name: "share", Path: "Metrics.Share", Kind: Number, In: upTo(1), Example: "0.5", Absent: "equal parts",
			Change: byChange},
		{Name: "burst", Path: "Metrics.Burst", Kind: Number, In: upTo(1), Default: "0.5", Change: byChange},
		{
			Name: "counted", Path: "Metrics.Counted", Kind: Object, Absent: "none", Optional: true, Switch: true,
			Change: byChange, Fields: []Field{
				{Name: "share", Path: "Metrics.Counted.Share", Kind: Number, In: between(0, 1), Default: "0.05",
					Change: byChange},
				{Name: "max_events", Path: "Metrics.Counted.MaxEvents", Kind: Integer, Unit: "events",
					In: within(1, schemas.MostEvents), Example: "20", Change: byChange,
					Absent: "as many as a full allowance pays for in one key"},
				{Name: "target", Path: "Metrics.Counted.Target", Kind: Object, Absent: "a relative error of 0.05",
					Optional: true, Change: byChange, Fields: targetFields("Metrics.Counted.Target.")},
			},
		},
	}
}

func keysFields() []Field {
	return []Field{
		{Name: "mode", Path: "Metrics.Keys.Mode", Kind: Text,
			OneOf:  []string{schemas.KeysPublic, schemas.KeysPrivate, schemas.KeysFrom},
			Absent: "`public` with a list, `from` with `keys_from`, else `private`", Change: newName},
		{Name: "list", Path: "Metrics.Keys.List", Kind: List, Absent: "`list_file`", Change: byChange},
		{Name: "list_file", Kind: File, Absent: "`list`", Change: byChange},
		{Name: "keys_from", Path: "Metrics.Keys.From", Kind: Text, Absent: "none", Change: newName},
	}
}

func boundFields() []Field {
	valued := metrickind.Plural(metrickind.Valued())
	return []Field{
		{Name: "max_keys_per_user", Path: "Metrics.MaxKeysPerUser", Kind: Integer, In: within(1, schemas.MostEvents),
			Example: "1", Absent: "no cap", Change: byChange},
		{Name: "max_events_per_key", Path: "Metrics.MaxEventsPerKey", Kind: Integer, Unit: "events",
			In: within(1, schemas.MostEvents), Example: "1", Absent: "no cap", Change: byChange},
		{Name: "min", Path: "Metrics.Min", Kind: Integer, Default: "0", Change: byChange},
		{Name: "max", Path: "Metrics.Max", Kind: Integer,
			Absent: "needed for " + valued + "; not for a histogram with `edges`", Change: byChange},
	}
}

func ladderFields() []Field {
	return []Field{
		{Name: "kind", Path: "Metrics.Ladder.Kind", Kind: Text, Change: byChange,
			OneOf:   []string{string(noisereduction.Adaptive), string(noisereduction.Geometric)},
			Default: string(noisereduction.Adaptive)},
		{Name: "factor", Path: "Metrics.Ladder.Factor", Kind: Number, Default: "2", Change: byChange,
			In: within(noisereduction.LeastFactor, noisereduction.MostFactor)},
	}
}

// targetFields returns the fields of a target. structPath is the path of the Target in
// deployment.Config, with a trailing dot.
func targetFields(structPath string) []Field {
	return []Field{
		{Name: "relative", Path: structPath + "Relative", Kind: Number, In: within(0, 0.5), Default: "0",
			Example: "0.05", Change: byChange},
		{Name: "absolute", Path: structPath + "Absolute", Kind: Number, In: atLeast(0), Default: "0", Example: "50",
			Change: byChange},
		{Name: "confidence", Path: structPath + "Confidence", Kind: Number, Default: "0.95", Change: byChange,
			In: within(noisereduction.LeastConfidence, noisereduction.MostConfidence)},
	}
}
