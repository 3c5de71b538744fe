package config

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func metricFields() []field {
	milli := float64(time.Millisecond)
	offered := metrickind.Offered()
	return []field{
		{
			name: "name", kind: text, example: "views", needed: true, change: byChange, goField: "Metrics.Name", meaning: "1 to 200 bytes, used once; stands in every release",
			to: func(d *draft) any { return &d.metric.Name },
		},
		{
			name: "kind", kind: text, initial: offered[0].Name, oneOf: metrickind.Names(offered), change: newName, goField: "Metrics.Kind",
			meaning: "what is counted: " + metrickind.Listed(metrickind.Meanings(offered), ", or "),
			to:      func(d *draft) any { return &d.metric.Kind },
		},
		{
			name: "filter", kind: text, absent: "all events", change: newName, goField: "Metrics.Filter",
			meaning: "expression over the event's fields: events for which it is true are taken, as in `status == 200 and country in [\"de\", \"fr\"]`",
			to:      func(d *draft) any { return &d.metric.Filter },
		},
		{name: "window", kind: object, needed: true, meaning: "windows start at multiples of the slide since 1970, UTC", fields: []field{
			{
				name: "size", kind: duration, example: "1h", needed: true, in: atLeast(milli), change: newName, goField: "Metrics.Window", meaning: "how long a window is",
				to: func(d *draft) any { return &d.metric.Window },
			},
			{
				name: "slide", kind: duration, example: "15m", absent: "the size: windows side by side", in: atLeast(milli), change: newName, goField: "Metrics.Slide",
				meaning: "distance of the starts of windows; the size is a multiple of it, at most 100 times",
				to:      func(d *draft) any { return &d.metric.Slide },
			},
		}},
		{name: "keys", kind: object, meaning: "which keys are released", fields: keysFields()},
		{name: "bounds", kind: object, meaning: "what one user can contribute to one window; noise does not depend on it, how long a budget lasts does", fields: boundFields()},
		{name: "ladder", kind: object, meaning: "the precisions that a release goes through until its target is met", fields: ladderFields()},
		{
			name: "target", kind: object, meaning: "the accuracy at which a release stops; without one it takes all the precision that the budget pays for",
			fields: targetFields("Metrics.Target.", func(d *draft) *noisereduction.Target { return &d.metric.Target }),
		},
		{
			name: "share", kind: number, example: "0.5", absent: "equal parts", in: &limits{low: 0, high: 1, open: true}, change: byChange, goField: "Metrics.Share",
			meaning: "part of the budget that the metric may use; all together at most 1",
			to:      func(d *draft) any { return &d.metric.Share },
		},
		{
			name: "last_at_least", kind: integer, example: "168", unit: "windows", absent: "needed, unless there is `ladder.sigma` or `privacy.period` (then: the windows of one period)", in: atLeast(1), change: byChange, goField: "Metrics.LastAtLeast",
			meaning: "how many windows every user can take part in, however much they contribute within the bounds, while no other metric has had more than its own: divides the budget",
			to:      func(d *draft) any { return &d.metric.LastAtLeast },
		},
		{
			name: "coverage", kind: object, absent: "none", change: byChange, goField: "Metrics.Coverage", plain: true,
			meaning: "releases beside the metric how many users were admitted to each window, as metric `" + metrickind.Derived().Beside("<name>") + "`; `coverage: true` takes the defaults",
			begin:   func(d *draft, _, _ int) { d.metric.Coverage = &deployment.Coverage{} },
			fields: []field{
				{
					name: "share", kind: number, initial: "0.05", in: between(0, 1), change: byChange, meaning: "part of the metric's budget for a window that coverage takes",
					to: func(d *draft) any { return &d.metric.Coverage.Share },
				},
				{
					name: "target", kind: object, absent: "the metric's", change: byChange, meaning: "its accuracy",
					begin:  func(*draft, int, int) {},
					fields: targetFields("", func(d *draft) *noisereduction.Target { return &d.metric.Coverage.Target }),
				},
			},
		},
	}
}

func keysFields() []field {
	return []field{
		{
			name: "mode", kind: text, absent: "by what else is given, else `private`", oneOf: []string{deployment.KeysPublic, deployment.KeysPrivate, deployment.KeysFrom}, change: newName, goField: "Metrics.Keys.Mode",
			meaning: "public: the keys of a list, released in every window, at zero, too; private: keys are protected and released above a threshold; from: those that another metric released",
			to:      func(d *draft) any { return &d.metric.Keys.Mode },
		},
		{
			name: "list", kind: list, absent: "`list_file`", change: byChange, goField: "Metrics.Keys.List",
			meaning: "the public keys. A list made by looking at the data is not protected. Events of other keys are filtered",
			to:      func(d *draft) any { return &d.metric.Keys.List },
		},
		{
			name: "list_file", kind: path, absent: "`list`", change: byChange, meaning: "file with the public keys, one a line",
			to: func(d *draft) any { return &d.listFiles[d.at] },
		},
		{
			name: "keys_from", kind: text, absent: "none", change: newName, goField: "Metrics.Keys.From",
			meaning: "the metric whose released keys this one takes; it has private keys and the same window",
			to:      func(d *draft) any { return &d.metric.Keys.From },
		},
	}
}

func boundFields() []field {
	const maxBound = 1 << 30 // what one contribution can be charged for
	valued := metrickind.Plural(metrickind.Valued())
	return []field{
		{
			name: "max_keys_per_user", kind: integer, initial: "1", in: within(1, maxBound), change: byChange, goField: "Metrics.MaxKeysPerUser",
			meaning: "keys per window in which one user counts; the rest of the user's keys are clipped",
			to:      func(d *draft) any { return &d.metric.MaxKeysPerUser },
		},
		{
			name: "max_events_per_key", kind: integer, unit: "events", initial: "1", in: within(1, maxBound), change: byChange, goField: "Metrics.MaxEventsPerKey",
			meaning: "events per window and key with which one user counts",
			to:      func(d *draft) any { return &d.metric.MaxEventsPerKey },
		},
		{
			name: "min", kind: integer, initial: "0", change: byChange, goField: "Metrics.Min", meaning: valued + ": smaller values count as this",
			to: func(d *draft) any { return &d.metric.Min },
		},
		{
			name: "max", kind: integer, absent: "needed for " + valued, change: byChange, goField: "Metrics.Max", meaning: valued + ": larger values count as this",
			to: func(d *draft) any { return &d.metric.Max },
		},
	}
}

func ladderFields() []field {
	return []field{
		{
			name: "kind", kind: text, initial: "adaptive", oneOf: []string{"adaptive", "geometric"}, change: byChange, goField: "Metrics.Ladder.Kind",
			meaning: "adaptive: the next precision follows from the last estimate; geometric: a fixed factor",
			to:      func(d *draft) any { return &d.metric.Ladder.Kind },
		},
		{
			name: "factor", kind: number, initial: "2", in: within(1.05, 16), change: byChange, goField: "Metrics.Ladder.Factor", meaning: "geometric: factor of the precision",
			to: func(d *draft) any { return &d.metric.Ladder.Factor },
		},
		{
			name: "sigma", kind: number, example: "50", unit: "of the count", absent: "from last_at_least", in: above(0), change: byChange, goField: "Metrics.Ladder.Sigma",
			meaning: "standard deviation at the top: an explicit cap in place of the one from last_at_least",
			to:      func(d *draft) any { return &d.metric.Ladder.Sigma },
		},
		{
			name: "first_sigma", kind: number, example: "100", unit: "of the count", absent: "private keys: twice that of the top; public keys: from expected_max", in: above(0), change: byChange, goField: "Metrics.Ladder.FirstSigma",
			meaning: "standard deviation of the first rung",
			to:      func(d *draft) any { return &d.metric.Ladder.FirstSigma },
		},
		{
			name: "expected_max", kind: number, example: "1000000", absent: "the first rung has 2⁻²⁴ of the top's precision", in: above(0), change: byChange, goField: "Metrics.Ladder.ExpectedMax",
			meaning: "the largest count that is expected: the first rung is just good enough for it (public keys with a relative target)",
			to:      func(d *draft) any { return &d.metric.Ladder.ExpectedMax },
		},
	}
}

// targetFields returns the fields of a target; goField is "" where the whole target is
// one field of a larger one.
func targetFields(goField string, of func(d *draft) *noisereduction.Target) []field {
	name := func(leaf string) string {
		if goField == "" {
			return ""
		}
		return goField + leaf
	}
	return []field{
		{
			name: "relative", kind: number, example: "0.05", initial: "0", in: within(0, 0.5), change: byChange, goField: name("Relative"), meaning: "relative error that is good enough: 0.05 is 5 %; 0 for none",
			to: func(d *draft) any { return &of(d).Relative },
		},
		{
			name: "absolute", kind: number, example: "50", initial: "0", in: atLeast(0), change: byChange, goField: name("Absolute"), meaning: "absolute error that is always good enough; 0 for none",
			to: func(d *draft) any { return &of(d).Absolute },
		},
		{
			name: "confidence", kind: number, initial: "0.95", in: within(0.8, 0.999), change: byChange, goField: name("Confidence"), meaning: "probability that the error is not larger, also of the printed intervals",
			to: func(d *draft) any { return &of(d).Confidence },
		},
	}
}
