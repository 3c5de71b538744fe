package config

import (
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

func metricFields() []field {
	milli := float64(time.Millisecond)
	offered := metrickind.Offered()
	return []field{
		{
			name: "name", kind: text, example: "views", needed: true, change: byChange, goField: "Metrics.Name", meaning: "name of the metric: 1 to 200 bytes, unique in the deployment. Every released value carries it",
		},
		{
			name: "kind", kind: text, initial: offered[0].Name, oneOf: metrickind.Names(offered), change: newName, goField: "Metrics.Kind",
			meaning: "what is counted: " + spelling.List(metrickind.Meanings(offered), ", or "),
		},
		{
			name: "ranks", kind: numbers, called: []string{"percentiles"}, example: "[0.5, 0.95]", absent: "`[0.5, 0.95, 0.99]` for quantiles", in: between(0, 1), change: byChange, goField: "Metrics.Ranks",
			meaning: "for quantiles: which ones are released, each as a metric of its own, such as `<name>.p95`. 0.5 is the median. All ranks share the same noise, so a further one costs little",
		},
		{
			name: "edges", kind: numbers, example: "[0, 10, 20, 50]", absent: "computed from `buckets`", change: byChange, goField: "Metrics.Edges",
			meaning: "for a histogram: the edges of its buckets, 3 to 51 rising whole numbers. The first and the last are `bounds.min` and `bounds.max`, which you can leave out. The share of the values from 10 to below the next edge is released as `<name>.from.10`, and the share of all values below 20 as `<name>.below.20`, both in percent",
		},
		{
			name: "buckets", kind: integer, called: []string{"bins"}, example: "20", absent: "for a histogram without `edges`: 10, or max − min if that is less", in: within(2, metrickind.MostBuckets), change: byChange, goField: "Metrics.Buckets",
			meaning: "for a histogram without `edges`: number of buckets from `bounds.min` to `bounds.max`. They have the same width or, with `scale: logarithmic`, edges of the same ratio",
		},
		{
			name: "scale", kind: text, absent: "`linear`", oneOf: []string{deployment.ScaleLinear, deployment.ScaleLogarithmic}, change: byChange, goField: "Metrics.Scale",
			meaning: "for quantiles, and for histograms with `buckets`: how the range is divided. `logarithmic` suits values of very different sizes, such as latencies. Then parts for quantiles are 1 wide up to a distance of 63 from `bounds.min`, and at most 1/32 of the distance from there on. A wide range needs fewer levels, which means less noise",
		},
		{
			name: "also", kind: list, example: "[mean]", absent: "nothing", change: byChange, goField: "Metrics.Also",
			meaning: "for means, variances, standard deviations, quantiles and histograms: further statistics of the same values, released as `<name>.mean` and so on, out of the same part of the budget: " + spelling.List(metrickind.AllAlso(), " or ") + ", but none that the kind releases anyway. All of them share the same noise",
		},
		{
			name: "filter", kind: text, absent: "all events", change: newName, goField: "Metrics.Filter",
			meaning: "counts only events for which this expression over their fields is true, for example `status == 200 and country in [\"de\", \"fr\"]`",
		},
		{name: "window", kind: object, needed: true, meaning: "the windows. They begin at multiples of `slide` since 1970-01-01 00:00 in the zone of `time.window_zone`", fields: []field{
			{
				name: "size", kind: duration, example: "1h", needed: true, in: atLeast(milli), change: newName, goField: "Metrics.Window", meaning: "length of a window",
			},
			{
				name: "slide", kind: duration, example: "15m", absent: "`size`: windows do not overlap", in: atLeast(milli), change: newName, goField: "Metrics.Slide",
				meaning: "time between the starts of two windows. `size` must be a multiple of it, at most 100 times",
			},
		}},
		{name: "keys", kind: object, goField: "Metrics.Keys", meaning: "the keys for which counts are released", fields: keysFields()},
		{name: "bounds", kind: object, meaning: "for values: the range that counts. Caps on what one user can contribute to one window are only for their meaning, such as one vote a day", fields: boundFields()},
		{name: "ladder", kind: object, goField: "Metrics.Ladder", meaning: "the precisions at which Tollgate tries a release, coarsest first, until the target is met", fields: ladderFields()},
		{
			name: "target", kind: object, goField: "Metrics.Target", meaning: "accuracy that you want. A release stops when it is reached",
			fields: append(targetFields("Metrics.Target."), field{
				name: "noise", kind: number, example: "50", unit: "events", absent: "needed for " + metrickind.Plural(metrickind.Computed()) + "; not for other kinds", in: above(0), change: byChange, goField: "Metrics.Noise",
				meaning: "error that a number of events has at least, at the confidence. The value is computed from such numbers. More noise counts more of the events of busy users",
			}),
		},
		{
			name: "share", kind: number, example: "0.5", absent: "equal parts", in: &limits{low: 0, high: 1, open: true}, change: byChange, goField: "Metrics.Share",
			meaning: "part of every user's budget that this metric may use. The shares of all metrics add up to at most 1",
		},
		{
			name: "burst", kind: number, initial: "0.5", in: &limits{low: 0, high: 1, open: true}, change: byChange, goField: "Metrics.Burst",
			meaning: "part of the metric's share that a user may use at once. The rest is paid out evenly over the period",
		},
		{
			name: "counted", kind: object, absent: "none", optional: true, change: byChange, goField: "Metrics.Counted", plain: true,
			meaning: "also releases how many events of each window are counted and how many are left out (beyond the allowance, and beyond the caps), over all keys, as metric `" + metrickind.Sharing().Beside("<name>") + "` with the keys `" + metrickind.EventsCounted + "` and `" + metrickind.EventsLeftOut + "`. `counted: true` uses the defaults",
			fields: []field{
				{
					name: "share", kind: number, initial: "0.05", in: between(0, 1), change: byChange, goField: "Metrics.Counted.Share", meaning: "part of the metric's share that this uses. It pays for every window",
				},
				{
					name: "max_events", kind: integer, example: "20", unit: "events", absent: "as many as a full allowance pays for in one key", in: within(1, 1<<30), change: byChange, goField: "Metrics.Counted.MaxEvents",
					meaning: "most events of one user in a window, over all keys. A user who has more counts with this many, in the same ratio of counted to left out. If some users have far more, the share is too high: choose a number that few users exceed. The noise is in proportion to it",
				},
				{
					name: "target", kind: object, absent: "a relative error of 0.05", optional: true, change: byChange, goField: "Metrics.Counted.Target", meaning: "accuracy of the two numbers",
					fields: targetFields("Metrics.Counted.Target."),
				},
			},
		},
	}
}

func keysFields() []field {
	return []field{
		{
			name: "mode", kind: text, absent: "`public` with a list, `from` with `keys_from`, else `private`", oneOf: []string{deployment.KeysPublic, deployment.KeysPrivate, deployment.KeysFrom}, change: newName, goField: "Metrics.Keys.Mode",
			meaning: "how keys are chosen. `public`: the keys of a list, released in every window, even at zero. `private`: keys are protected, and released only above a threshold. `from`: the keys that another metric released",
		},
		{
			name: "list", kind: list, absent: "`list_file`", change: byChange, goField: "Metrics.Keys.List",
			meaning: "the public keys. If you choose them by looking at the data, the list itself is not protected. Events with other keys do not count",
		},
		{
			name: "list_file", kind: path, absent: "`list`", change: byChange, meaning: "file with the public keys, one in each line",
			to: func(d *draft) any { return &d.listFiles[d.at] },
		},
		{
			name: "keys_from", kind: text, absent: "none", change: newName, goField: "Metrics.Keys.From",
			meaning: "metric whose released keys this one uses. It must have private keys and the same window",
		},
	}
}

func boundFields() []field {
	const maxBound = 1 << 30 // what one contribution can be charged for
	valued := metrickind.Plural(metrickind.Valued())
	return []field{
		{
			name: "max_keys_per_user", kind: integer, absent: "no cap", example: "1", in: within(1, maxBound), change: byChange, goField: "Metrics.MaxKeysPerUser",
			meaning: "most keys of a window in which one user counts. Further keys of the user are beyond the allowance",
		},
		{
			name: "max_events_per_key", kind: integer, unit: "events", absent: "no cap", example: "1", in: within(1, maxBound), change: byChange, goField: "Metrics.MaxEventsPerKey",
			meaning: "most events of a window and key that count for one user. Further ones are beyond the allowance",
		},
		{
			name: "min", kind: integer, initial: "0", change: byChange, goField: "Metrics.Min", meaning: valued + ": smaller values count as this one",
		},
		{
			name: "max", kind: integer, absent: "needed for " + valued + "; not for a histogram with `edges`", change: byChange, goField: "Metrics.Max", meaning: valued + ": larger values count as this one",
		},
	}
}

func ladderFields() []field {
	return []field{
		{
			name: "kind", kind: text, initial: "adaptive", oneOf: []string{"adaptive", "geometric"}, change: byChange, goField: "Metrics.Ladder.Kind",
			meaning: "how the next precision is chosen. `adaptive`: from the last estimate. `geometric`: by a fixed factor",
		},
		{
			name: "factor", kind: number, initial: "2", in: within(1.05, 16), change: byChange, goField: "Metrics.Ladder.Factor", meaning: "for `geometric`: factor from one precision to the next",
		},
	}
}

// targetFields returns the fields of the target in this part of deployment.Config.
func targetFields(in string) []field {
	return []field{
		{
			name: "relative", kind: number, example: "0.05", initial: "0", in: within(0, 0.5), change: byChange, goField: in + "Relative", meaning: "relative error that is small enough: 0.05 is 5 %, 0 means none",
		},
		{
			name: "absolute", kind: number, example: "50", initial: "0", in: atLeast(0), change: byChange, goField: in + "Absolute", meaning: "absolute error that is always small enough. A metric of counts or sums needs it: no value is more exact, and more noise counts more of the events of busy users",
		},
		{
			name: "confidence", kind: number, initial: "0.95", in: within(0.8, 0.999), change: byChange, goField: in + "Confidence", meaning: "probability that the error is no larger than the target. The confidence of printed intervals is the same",
		},
	}
}
