package settings

import (
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

func metricFields() []Field {
	milli := float64(time.Millisecond)
	offered := metrickind.Offered()
	return []Field{
		{
			Name: "name", Kind: Text, Example: "views", Needed: true, Change: byChange, Path: "Metrics.Name",
			Meaning: "name of the metric: 1 to 200 bytes, unique in the deployment. Every released value carries it",
		},
		{
			Name: "kind", Kind: Text, Default: offered[0].Name, OneOf: metrickind.Names(offered), Change: newName,
			Path:    "Metrics.Kind",
			Meaning: "what is counted: " + spelling.List(metrickind.Meanings(offered), ", or "),
		},
		{
			Name: "ranks", Kind: Numbers, Called: []string{"percentiles"}, Example: "[0.5, 0.95]",
			Absent: "`[0.5, 0.95, 0.99]` for quantiles", In: between(0, 1), Change: byChange, Path: "Metrics.Ranks",
			Meaning: "for quantiles: which ones are released, each as a metric of its own, such as `<name>.p95`. 0.5 " +
				"is the median. All ranks share the same noise, so a further one costs little",
		},
		{
			Name: "edges", Kind: Numbers, Example: "[0, 10, 20, 50]", Absent: "computed from `buckets`",
			Change: byChange, Path: "Metrics.Edges",
			Meaning: "for a histogram: the edges of its buckets, 3 to 51 rising whole numbers. The first and the " +
				"last are `bounds.min` and `bounds.max`, which you can leave out. The share of the values from 10 to " +
				"below the next edge is released as `<name>.from.10`, and the share of all values below 20 as " +
				"`<name>.below.20`, both in percent",
		},
		{
			Name: "buckets", Kind: Integer, Called: []string{"bins"}, Example: "20",
			Absent: "for a histogram without `edges`: 10, or max − min if that is less",
			In:     within(2, metrickind.MostBuckets), Change: byChange, Path: "Metrics.Buckets",
			Meaning: "for a histogram without `edges`: number of buckets from `bounds.min` to `bounds.max`. They " +
				"have the same width or, with `scale: logarithmic`, edges of the same ratio",
		},
		{
			Name: "scale", Kind: Text, Absent: "`linear`", OneOf: []string{"linear", "logarithmic"}, Change: byChange,
			Path: "Metrics.Scale",
			Meaning: "for quantiles, and for histograms with `buckets`: how the range is divided. `logarithmic` " +
				"suits values of very different sizes, such as latencies. Then parts for quantiles are 1 wide up to " +
				"a distance of 63 from `bounds.min`, and at most 1/32 of the distance from there on. A wide range " +
				"needs fewer levels, which means less noise",
		},
		{
			Name: "also", Kind: List, Example: "[mean]", Absent: "nothing", Change: byChange, Path: "Metrics.Also",
			Meaning: "for means, variances, standard deviations, quantiles and histograms: further statistics of the " +
				"same values, released as `<name>.mean` and so on, out of the same part of the budget: " +
				spelling.List(metrickind.AllAlso(), " or ") + ", but none that the kind releases anyway. All of them " +
				"share the same noise",
		},
		{
			Name: "filter", Kind: Text, Absent: "all events", Change: newName, Path: "Metrics.Filter",
			Meaning: "counts only events for which this expression over their fields is true, for example `status == " +
				"200 and country in [\"de\", \"fr\"]`",
		},
		{
			Name: "window", Kind: Object, Needed: true,
			Meaning: "the windows. They begin at multiples of `slide` since 1970-01-01 00:00 in the zone of " +
				"`time.window_zone`",
			Fields: []Field{
				{
					Name: "size", Kind: Duration, Example: "1h", Needed: true, In: atLeast(milli), Change: newName,
					Path: "Metrics.Window", Meaning: "length of a window",
				},
				{
					Name: "slide", Kind: Duration, Example: "15m", Absent: "`size`: windows do not overlap",
					In: atLeast(milli), Change: newName, Path: "Metrics.Slide",
					Meaning: "time between the starts of two windows. `size` must be a multiple of it, at most 100 " +
						"times",
				},
			},
		},
		{
			Name: "keys", Kind: Object, Path: "Metrics.Keys", Meaning: "the keys for which counts are released",
			Fields: keysFields(),
		},
		{
			Name: "bounds", Kind: Object,
			Meaning: "for values: the range that counts. Caps on what one user can contribute to one window are only " +
				"for their meaning, such as one vote a day",
			Fields: boundFields(),
		},
		{
			Name: "ladder", Kind: Object, Path: "Metrics.Ladder",
			Meaning: "the precisions at which Tollgate tries a release, coarsest first, until the target is met",
			Fields:  ladderFields(),
		},
		{
			Name: "target", Kind: Object, Path: "Metrics.Target",
			Meaning: "accuracy that you want. A release stops when it is reached",
			Fields: append(targetFields("Metrics.Target."), Field{
				Name: "noise", Kind: Number, Example: "50", Unit: "events",
				Absent: "needed for " + metrickind.Plural(metrickind.Computed()) + "; not for other kinds",
				In:     above(0), Change: byChange, Path: "Metrics.Noise",
				Meaning: "error that a number of events has at least, at the confidence. The value is computed from " +
					"such numbers. More noise counts more of the events of busy users",
			}),
		},
		{
			Name: "share", Kind: Number, Example: "0.5", Absent: "equal parts", In: upTo(1), Change: byChange,
			Path: "Metrics.Share",
			Meaning: "part of every user's budget that this metric may use. The shares of all metrics add up to at " +
				"most 1",
		},
		{
			Name: "burst", Kind: Number, Default: "0.5", In: upTo(1), Change: byChange, Path: "Metrics.Burst",
			Meaning: "part of the metric's share that a user may use at once. The rest is paid out evenly over the " +
				"period",
		},
		{
			Name: "counted", Kind: Object, Absent: "none", Optional: true, Change: byChange, Path: "Metrics.Counted",
			Switch: true,
			Meaning: "also releases how many events of each window are counted and how many are left out (beyond the " +
				"allowance, and beyond the caps), over all keys, as metric `" + metrickind.Sharing().Beside("<name>") +
				"` with the keys `" + metrickind.EventsCounted + "` and `" + metrickind.EventsLeftOut + "`. " +
				"`counted: true` uses the defaults",
			Fields: []Field{
				{
					Name: "share", Kind: Number, Default: "0.05", In: between(0, 1), Change: byChange,
					Path:    "Metrics.Counted.Share",
					Meaning: "part of the metric's share that this uses. It pays for every window",
				},
				{
					Name: "max_events", Kind: Integer, Example: "20", Unit: "events",
					Absent: "as many as a full allowance pays for in one key", In: within(1, 1<<30), Change: byChange,
					Path: "Metrics.Counted.MaxEvents",
					Meaning: "most events of one user in a window, over all keys. A user who has more counts with " +
						"this many, in the same ratio of counted to left out. If some users have far more, the share " +
						"is too high: choose a number that few users exceed. The noise is in proportion to it",
				},
				{
					Name: "target", Kind: Object, Absent: "a relative error of 0.05", Optional: true, Change: byChange,
					Path: "Metrics.Counted.Target", Meaning: "accuracy of the two numbers",
					Fields: targetFields("Metrics.Counted.Target."),
				},
			},
		},
	}
}

func keysFields() []Field {
	return []Field{
		{
			Name: "mode", Kind: Text, Absent: "`public` with a list, `from` with `keys_from`, else `private`",
			OneOf: []string{schemas.KeysPublic, schemas.KeysPrivate, schemas.KeysFrom}, Change: newName,
			Path: "Metrics.Keys.Mode",
			Meaning: "how keys are chosen. `public`: the keys of a list, released in every window, even at zero. " +
				"`private`: keys are protected, and released only above a threshold. `from`: the keys that another " +
				"metric released",
		},
		{
			Name: "list", Kind: List, Absent: "`list_file`", Change: byChange, Path: "Metrics.Keys.List",
			Meaning: "the public keys. If you choose them by looking at the data, the list itself is not protected. " +
				"Events with other keys do not count",
		},
		{
			Name: "list_file", Kind: File, Absent: "`list`", Change: byChange,
			Meaning: "file with the public keys, one in each line",
		},
		{
			Name: "keys_from", Kind: Text, Absent: "none", Change: newName, Path: "Metrics.Keys.From",
			Meaning: "metric whose released keys this one uses. It must have private keys and the same window",
		},
	}
}

func boundFields() []Field {
	const maxBound = 1 << 30 // what one contribution can be charged for
	valued := metrickind.Plural(metrickind.Valued())
	return []Field{
		{
			Name: "max_keys_per_user", Kind: Integer, Absent: "no cap", Example: "1", In: within(1, maxBound),
			Change: byChange, Path: "Metrics.MaxKeysPerUser",
			Meaning: "most keys of a window in which one user counts. Further keys of the user are beyond the " +
				"allowance",
		},
		{
			Name: "max_events_per_key", Kind: Integer, Unit: "events", Absent: "no cap", Example: "1",
			In: within(1, maxBound), Change: byChange, Path: "Metrics.MaxEventsPerKey",
			Meaning: "most events of a window and key that count for one user. Further ones are beyond the allowance",
		},
		{
			Name: "min", Kind: Integer, Default: "0", Change: byChange, Path: "Metrics.Min",
			Meaning: valued + ": smaller values count as this one",
		},
		{
			Name: "max", Kind: Integer, Absent: "needed for " + valued + "; not for a histogram with `edges`",
			Change: byChange, Path: "Metrics.Max", Meaning: valued + ": larger values count as this one",
		},
	}
}

func ladderFields() []Field {
	return []Field{
		{
			Name: "kind", Kind: Text, Default: "adaptive", OneOf: []string{"adaptive", "geometric"}, Change: byChange,
			Path: "Metrics.Ladder.Kind",
			Meaning: "how the next precision is chosen. `adaptive`: from the last estimate. `geometric`: by a fixed " +
				"factor",
		},
		{
			Name: "factor", Kind: Number, Default: "2", In: within(1.05, 16), Change: byChange,
			Path: "Metrics.Ladder.Factor", Meaning: "for `geometric`: factor from one precision to the next",
		},
	}
}

// targetFields returns the fields of the target in this part of deployment.Config.
func targetFields(in string) []Field {
	return []Field{
		{
			Name: "relative", Kind: Number, Example: "0.05", Default: "0", In: within(0, 0.5), Change: byChange,
			Path: in + "Relative", Meaning: "relative error that is small enough: 0.05 is 5 %, 0 means none",
		},
		{
			Name: "absolute", Kind: Number, Example: "50", Default: "0", In: atLeast(0), Change: byChange,
			Path: in + "Absolute",
			Meaning: "absolute error that is always small enough. A metric of counts or sums needs it: no value is " +
				"more exact, and more noise counts more of the events of busy users",
		},
		{
			Name: "confidence", Kind: Number, Default: "0.95", In: within(0.8, 0.999), Change: byChange,
			Path: in + "Confidence",
			Meaning: "probability that the error is no larger than the target. The confidence of printed intervals " +
				"is the same",
		},
	}
}
